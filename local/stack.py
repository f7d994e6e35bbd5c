"""Local redpacket stack: cache, AWS emulator, deployed template, and front."""

import fcntl
import json
import os
import shutil
import socket
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import boto3
import botocore.session
from botocore.config import Config

from local import issuer_keys, places
from local.access import AUDIENCE, Access
from local.build import Build, Building, architecture
from local.chat.secret import write_secret
from local.conflicts import CONTROL
from local.deploy import deploy
from local.errors import StackError
from local.front import issuer_url
from local.gateways.host.setup import OwnWallet
from local.gateways.setups import Setup, page_parts, setups
from local.issuer import Issuer
from local.packet_ids import PUBLISHED_KEYS
from local.page import AVATAR_HOSTS, CONFIG, COVER_HOSTS
from local.ports import HOST, Ports, is_open, listen
from local.processes import Process, stop_all
from local.publish import configuration
from redpacket.platform.unit import Unit

# Maximum seconds for each program to start, which takes less than one on an idle machine.
START_TIMEOUT_S = 60.0
REGION = "us-east-1"
FRONT_ENVIRONMENT = ("PATH", "PYTHONPYCACHEPREFIX")
# The emulator's root user, who has all permissions. Functions have only their roles' permissions.
CREDENTIALS = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}

WAIT_SCALE = 2 / 900
"""Factor that shortens the state machine's waits: 15 minutes become 2 seconds."""

CACHE = "cache"
EMULATOR = Path(__file__).with_name("emulator.py")
STOPPED = "emulator.stopped"
"""Subfolder of the state folder with the files of a stopped emulator."""


def client_of(url: str, service: str) -> Any:  # noqa: ANN401 - boto3 makes its clients at run time
    """Return a boto3 client for *service* at an emulator's address."""
    # Ignore the caller's AWS profile, because it is for the real AWS, or may not exist.
    nobody = botocore.session.Session(session_vars={"profile": (None, None, None, None)})
    # The boto3 types require a literal service name.
    session: Any = boto3.session.Session(botocore_session=nobody)
    return session.client(
        service,
        region_name=REGION,
        endpoint_url=url,
        config=Config(retries={"total_max_attempts": 1}, max_pool_connections=64),
        **CREDENTIALS,
    )


class Stack:
    """Local stack with its state folder; it stops when the `with` block or the process ends."""

    def __init__(
        self,
        state_dir: Path,
        *,
        ports: Ports | None = None,
        say: Callable[[str], None] = lambda _: None,
        hold_ms: tuple[int, int] | None = None,
        hosts_page: bool = False,
        has_alarms: bool = False,
        access: Access | None = None,
        sources: Path = places.ROOT,
    ) -> None:
        """Prepare a stack; with *hold_ms*, transactions conflict as in DynamoDB.

        With *hosts_page*, the stack also has the page's bucket and distribution. With *has_alarms*,
        the stack evaluates alarms. The stack deploys the template and code in *sources*.
        """
        self._access, self._sources = access or Access(), sources
        self._providers: dict[str, str] = {}
        self.state_dir = state_dir.resolve()
        self.ports = ports or Ports.free()
        self._hold_ms = hold_ms
        self._hosts_page = hosts_page
        self._has_alarms = has_alarms
        # Port for AWS calls from functions and this process: the emulator's, or a proxy's.
        self.aws_port = Ports.free().front if hold_ms else self.ports.emulator
        self.outputs: dict[str, str] = {}
        self._say = say
        self._processes: list[Process] = []
        self._cache_lost_at_ms = 0
        self._listeners: dict[int, socket.socket] = {}
        self._lock: IO[str] | None = None
        self._making = threading.Lock()
        self._clients: dict[str, Any] = {}

    @property
    def api(self) -> str:
        """Base URL for API clients."""
        return f"http://{HOST}:{self.ports.front}"

    @property
    def page(self) -> str:
        """Base URL for browsers, including phones on this network."""
        return f"http://{self._access.host}:{self.ports.front}"

    @property
    def issuer(self) -> str:
        """The developer's own issuer of user tokens, or an empty string."""
        return self._access.issuer

    @property
    def unit(self) -> Unit:
        """Unit of account."""
        return Unit.of(self._access.unit)

    @property
    def gateway(self) -> str:
        """Address of the simulated WeChat."""
        return self._programs["gateway"]

    @property
    def wallet(self) -> str:
        """Address of the host's wallet, simulated or the developer's own."""
        return self._programs["wallet"]

    @property
    def _simulators(self) -> dict[str, str]:
        """Addresses, keyed by provider."""
        return {name: f"http://{HOST}:{port}" for name, port in self.ports.simulators.items()}

    @property
    def _programs(self) -> dict[str, str]:
        """Addresses, keyed by program."""
        simulated = {setups()[name].program: url for name, url in self._simulators.items()}
        return simulated | ({"wallet": self._access.wallet} if self._access.wallet else {})

    @property
    def _setups(self) -> dict[str, Setup]:
        """Setups, keyed by provider; a developer's own wallet replaces the simulated wallet."""
        wallet, secret = self._access.wallet, self._access.wallet_secret
        return setups() | ({"host": OwnWallet(wallet, secret)} if wallet else {})

    @property
    def _enabled(self) -> dict[str, Setup]:
        """Setups of the providers that support the unit of account."""
        units = {"", self.unit.name}
        return {name: each for name, each in self._setups.items() if each.only_unit in units}

    @property
    def receiver(self) -> str:
        """Address of the webhook receiver."""
        return f"http://{HOST}:{self.ports.receiver}"

    @property
    def chat(self) -> str:
        """Address of the page with group chats on simulated chat platforms."""
        return f"http://{HOST}:{self.ports.chat}"

    @property
    def _chat_secret(self) -> Path:
        return self.state_dir / "chat.json"

    @property
    def redis_port(self) -> int:
        """Port of the cache."""
        return self.ports.cache

    def aws(self, service: str) -> Any:  # noqa: ANN401 - boto3 makes its clients at run time
        """Return a boto3 client for the emulator's *service*; threads may share the client."""
        with self._making:
            if service not in self._clients:
                self._clients[service] = client_of(f"http://{HOST}:{self.aws_port}", service)
            return self._clients[service]

    def hold_items(self, shortest_ms: int, longest_ms: int) -> None:
        """Set how long transactions hold items; requires a stack created with *hold_ms*."""
        request = urllib.request.Request(
            f"http://{HOST}:{self.aws_port}{CONTROL}",
            data=json.dumps([shortest_ms, longest_ms]).encode(),
        )
        urllib.request.urlopen(request, timeout=10).close()

    def token(self, sub: str, nickname: str | None = None, scope: str | None = None) -> str:
        """Return a token from the development issuer for the user *sub*."""
        return self._issuer.token(sub, nickname, scope).token

    def __enter__(self) -> Self:
        """Start the stack; if the start fails, stop all started parts."""
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop the stack."""
        self.stop()

    def start(self) -> None:
        """Start all parts, and return when the API responds."""
        self._take_state_dir()
        # Reserve the ports now, because another stack could take them during the long build.
        for host, port in (
            (self._access.bind, self.ports.front),
            (HOST, self.ports.orchestration),
        ):
            self._listeners[port] = listen(host, port)
        url = issuer_url(self.ports.front)
        self._issuer = Issuer(self.state_dir / "issuer.pem", url)
        # Create the key pairs for the product's own tokens; the front publishes the public keys.
        own_keys, published = self.state_dir / "issuer.json", self.state_dir / "issuer"
        issuer_keys.make(own_keys, published, url, now_ms=time.time_ns() // 1_000_000)
        # Start the cache, the emulator and the counterparties during the build, the longest step.
        with Building(self._say, self._log("build"), self._sources) as building:
            cache = self._start_cache()
            emulator = self._start_emulator()
            cache.wait_until(lambda: is_open(self.ports.cache), timeout_s=START_TIMEOUT_S)
            self._say(f"cache: {HOST}:{self.ports.cache}")
            emulator.wait_until(self._is_emulator_ready, timeout_s=START_TIMEOUT_S)
            self._say(f"emulator: http://{HOST}:{self.ports.emulator}")
            self._start_conflicts()
            self._start_counterparties()
            self._providers = self._store_secrets()
            built = building.finish()
        self._deploy(built)
        # Invoke the log function once, so that it publishes the first head.
        log = self.outputs["LogFunction"]
        self.aws("lambda").invoke(FunctionName=log, InvocationType="Event", Payload=b"{}")
        self._start_orchestration()
        parts = {
            **page_parts(self._parameters() | self._providers, self._simulators),
            **self._own_sign_in(),
            "unit": self.unit._asdict(),
            "channels": list(self._enabled),
        }
        self._start_front(parts).wait_until(self._is_api_ready, timeout_s=START_TIMEOUT_S)
        self._say(f"API: {self.api}")
        self.describe()

    def deploy(self, sources: Path, **parameters: str) -> None:
        """Deploy the tree *sources* over the running release; functions then reload their secrets.

        *parameters* replace those of the previous deployment, and later deployments keep them.
        """
        with Building(self._say, self._log("build"), sources) as building:
            built = building.finish()
        self._providers |= parameters
        # Publish new function versions, as `make deploy` does.
        self._deploy(built, {"RELEASE": str(time.time_ns())})
        self.describe()

    def _deploy(self, built: Build, variables: dict[str, str] | None = None) -> None:
        began_at = time.monotonic()
        self.outputs = deploy(
            built,
            self._parameters() | self._providers,
            {
                "SIMULATOR_URL": self.gateway,
                "AWS_ENDPOINT_URL_ATHENA": self._orchestration,
                **(variables or {}),
            },
            cloud=self.aws("cloudformation"),
            store=self.aws("s3"),
        )
        self._say(f"template deployed: {time.monotonic() - began_at:.1f} s")

    def stop(self) -> None:
        """Stop all started parts; harmless if none was started."""
        for listener in self._listeners.values():
            listener.close()
        self._listeners.clear()
        stop_all(self._processes)
        self._processes.clear()
        if self._lock:
            (self.state_dir / "stack.json").unlink(missing_ok=True)
            # Delete the files last, after another stack can start, because deletion takes a while.
            stopped = (self.state_dir / "emulator").replace(self.state_dir / STOPPED)
            self._lock.close()
            self._lock = None
            shutil.rmtree(stopped, ignore_errors=True)

    def describe(self) -> None:
        """Write stack.json, for the CLI and the drills."""
        (self.state_dir / "stack.json").write_text(json.dumps(self.description(), indent=2))

    @property
    def _orchestration(self) -> str:
        return f"http://{HOST}:{self.ports.orchestration}"

    def description(self) -> dict[str, Any]:
        """Return the content of stack.json, with which other programs find this stack."""
        return {
            "api": self.api,
            "emulator": f"http://{HOST}:{self.ports.emulator}",
            "athena": self._orchestration,
            "cache": f"{HOST}:{self.ports.cache}",
            **self._programs,
            "receiver": self.receiver,
            "chat": self.chat,
            "state_dir": str(self.state_dir),
            "cache_lost_at_ms": self._cache_lost_at_ms,
            "pids": {process.name: process.pid for process in self._processes},
            "outputs": self.outputs,
            "options": self._access.options,
        }

    def ended(self) -> Process | None:
        """Return a program that has ended, or None; restart an ended cache without data."""
        for process in self._processes:
            if process.is_running():
                continue
            if process.name != CACHE:
                return process
            process.stop()
            self._processes.remove(process)
            self._cache_lost_at_ms = time.time_ns() // 1_000_000
            self._start_cache().wait_until(
                lambda: is_open(self.ports.cache), timeout_s=START_TIMEOUT_S
            )
            self.describe()
            self._say("The cache ended, and runs again without data.")
            break
        return None

    def _take_state_dir(self) -> None:
        self.state_dir.mkdir(parents=True, exist_ok=True)
        lock = (self.state_dir / "lock").open("a+")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.close()
            raise StackError(
                f"a stack with its state in {self.state_dir} is running already: `make down`, or "
                "Ctrl-C in its terminal, stops it"
            ) from None
        self._lock = lock
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        for old in (STOPPED, "emulator", "cache", "logs"):
            shutil.rmtree(self.state_dir / old, ignore_errors=True)
        for new in ("emulator", "cache", "logs"):
            (self.state_dir / new).mkdir()
        (self.state_dir / "stack.json").unlink(missing_ok=True)

    def _log(self, name: str) -> Path:
        return self.state_dir / "logs" / f"{name}.log"

    def _run(
        self, name: str, command: list[str], env: dict[str, str], cwd: Path, port: int | None = None
    ) -> Process:
        listener = self._listeners.pop(port) if port else None
        process = Process(name, command, log=self._log(name), env=env, cwd=cwd, listener=listener)
        self._processes.append(process)
        return process

    def _start_cache(self) -> Process:
        options = {
            "--bind": HOST,
            "--port": str(self.ports.cache),
            "--save": "",
            "--appendonly": "no",
            # As in template.yaml, a full cache refuses writes instead of evicting packets.
            "--maxmemory-policy": "noeviction",
        }
        command = [places.cache_server(), *(part for pair in options.items() for part in pair)]
        env = {"PATH": os.environ["PATH"]}
        return self._run(CACHE, command, env, self.state_dir / "cache")

    def _start_emulator(self) -> Process:
        home = self.state_dir / "emulator"
        # Inherit no variables except PATH, because functions would see them, unlike on AWS.
        env = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "TMPDIR": str(home),
            "STATE_DIR": str(home / "state"),
            "BIND_HOST": HOST,
            "GATEWAY_PORT": str(self.ports.emulator),
            "IOT_MTLS_ENABLED": "0",
            "AUTH": "true",
            "LOG_LEVEL": "ERROR",
            "ORCHESTRATION_URL": self._orchestration,
            "SFN_WAIT_SCALE": str(WAIT_SCALE),
            "AWS_DEFAULT_REGION": REGION,
            "AWS_ACCESS_KEY_ID": CREDENTIALS["aws_access_key_id"],
            "AWS_SECRET_ACCESS_KEY": CREDENTIALS["aws_secret_access_key"],
            "REDIS_HOST": HOST,
            "REDIS_PORT": str(self.ports.cache),
            # The emulator also passes this variable to functions.
            "AWS_ENDPOINT_URL": f"http://{HOST}:{self.aws_port}",
        }
        # With -P, Python does not import modules from the emulator's folder.
        command = [str(places.LAMBDA_PYTHON), "-P", str(EMULATOR)]
        return self._run("emulator", command, env, home)

    def _start_conflicts(self) -> None:
        """Start the proxy that makes transactions conflict, if requested."""
        if self._hold_ms is None:
            return
        command = [
            *(sys.executable, "-m", "local.conflicts"),
            *("--port", str(self.aws_port)),
            *("--emulator-port", str(self.ports.emulator)),
            *("--hold-ms", *map(str, self._hold_ms)),
        ]
        env = {name: os.environ[name] for name in FRONT_ENVIRONMENT if name in os.environ}
        env["PYTHONPATH"] = str(places.ROOT / "shared")
        conflicts = self._run("conflicts", command, env, places.ROOT)
        conflicts.wait_until(lambda: is_open(self.aws_port), timeout_s=START_TIMEOUT_S)

    def _start_counterparties(self) -> None:
        """Start the webhook receiver, and the simulated chat platforms and payment providers."""
        started = {
            self.ports.receiver: self._start_receiver(),
            self.ports.chat: self._start_chat_platforms(),
        }
        for provider, port in self.ports.simulators.items():
            if self._setups[provider].is_simulated:
                started[port] = self._start_simulator(provider, port)
        for port, process in started.items():
            process.wait_until(partial(is_open, port), timeout_s=START_TIMEOUT_S)
        self._say(f"gateway: {self.gateway}")
        if self._access.wallet:
            callback = f"{self.api}/gateway/host/callback"
            self._say(
                f"your wallet: {self.wallet} signs with {self._access.wallet_secret}, and posts "
                f"results to {callback}"
            )

    def _start_chat_platforms(self) -> Process:
        write_secret(self._chat_secret, self.chat)
        command = [
            *(sys.executable, "-m", "local.chat", "--port", str(self.ports.chat)),
            *("--secret", str(self._chat_secret), "--callback-url", f"{self.api}/chat"),
        ]
        env = {name: os.environ[name] for name in FRONT_ENVIRONMENT if name in os.environ}
        return self._run("chat", command, env, places.ROOT)

    def _start_receiver(self) -> Process:
        command = [sys.executable, "-m", "local.receiver", "--port", str(self.ports.receiver)]
        env = {name: os.environ[name] for name in FRONT_ENVIRONMENT if name in os.environ}
        return self._run("receiver", command, env, places.ROOT)

    def _store_secrets(self) -> dict[str, str]:
        """Store the secrets for chat and providers; return the parameters that enable both."""
        manager = self.aws("secretsmanager")
        chat = manager.create_secret(Name="chat", SecretString=self._chat_secret.read_text())
        parameters: dict[str, str] = {"ChatSecretArn": chat["ARN"]}
        for provider, setup in self._enabled.items():
            parameters |= setup.parameters(self.state_dir, self._simulators[provider])
            for name, file in setup.secrets(self.state_dir).items():
                if self._access.issuer and file == self.state_dir / "issuer.json":
                    continue  # The developer's issuer does not publish these keys.
                secret = manager.create_secret(Name=file.stem, SecretString=file.read_text())
                parameters[name] = secret["ARN"]
        return parameters

    def _own_sign_in(self) -> dict[str, Any]:
        """Return the sign-in with the developer's issuer; operators sign in as usual."""
        if not self._access.issuer:
            return {}
        given = {"JwtIssuer": self._access.issuer, "PageClientId": "page"}
        auth = configuration({}, given, REGION)["auth"]
        return {"auth": auth, "operators_auth": CONFIG["auth"]}

    def _start_simulator(self, provider: str, port: int) -> Process:
        keys = self.state_dir / "payments"
        keys.mkdir(exist_ok=True)
        command = [
            *(sys.executable, "-m", "local.gateways", provider),
            *("--port", str(port), "--keys", str(keys)),
            *("--callback-url", f"{self.api}/gateway/{provider}/callback"),
        ]
        env = {name: os.environ[name] for name in FRONT_ENVIRONMENT if name in os.environ}
        return self._run(setups()[provider].program, command, env, places.ROOT)

    def _start_orchestration(self) -> None:
        """Start the server for Athena and for the state machine's tasks."""
        command = [
            *(sys.executable, "-m", "local.orchestration"),
            *("--port", str(self.ports.orchestration)),
            *("--emulator-port", str(self.ports.emulator)),
            *("--outputs", json.dumps(self.outputs)),
            *(["--with-alarms"] if self._has_alarms else []),
        ]
        env = {name: os.environ[name] for name in FRONT_ENVIRONMENT if name in os.environ}
        env["PYTHONPATH"] = str(places.ROOT / "shared")
        self._run("orchestration", command, env, places.ROOT, self.ports.orchestration)

    def _start_front(self, parts: dict[str, Any]) -> Process:
        command = [
            *(sys.executable, "-m", "local.front"),
            *("--port", str(self.ports.front)),
            *("--bind", self._access.bind),
            *("--emulator-port", str(self.ports.emulator)),
            *("--api-id", self.outputs["ApiId"]),
            *("--key", str(self.state_dir / "issuer.pem")),
            *("--config", json.dumps(parts)),
        ]
        env = {name: os.environ[name] for name in FRONT_ENVIRONMENT if name in os.environ}
        env["PYTHONPATH"] = str(places.ROOT / "shared")
        return self._run("front", command, env, places.ROOT, self.ports.front)

    def _parameters(self) -> dict[str, str]:
        development = issuer_url(self.ports.front)
        own = {"OperatorIssuer": development, "OperatorClientIds": AUDIENCE}
        return {
            "Stage": "dev",
            "Architecture": architecture(),
            "CacheUrl": f"redis://{HOST}:{self.ports.cache}",
            "JwtIssuer": self._access.issuer or development,
            "JwtAudience": self._access.audience,
            # Operators keep the development issuer, which the `redpacket` command requires.
            **(own if self._access.issuer else {}),
            "UnitName": self.unit.name,
            "UnitSymbol": self.unit.symbol,
            "UnitDecimals": str(self.unit.decimals),
            "ShareBaseUrl": self.page,
            "EmbedOrigins": self._access.embed,
            # Apart from WeChat's host, these names are reserved for examples (RFC 2606).
            "AvatarHosts": ",".join(AVATAR_HOSTS),
            "CoverHosts": ",".join(COVER_HOSTS),
            "HostPage": "true" if self._hosts_page else "false",
            "PageClientId": "page",
            "CallbackBaseUrl": self.api,
            # Tests deposit as much in a day as a real deployment does in months, so raise the
            # limits.
            "ApprovalFen": "100000000,10000000000,10000000000",
            "RiskVerdicts": "true",
            # Examples and tests contain ids that no stack created, so accept the published key.
            "PreviousPacketIdKeys": PUBLISHED_KEYS,
        }

    def _is_emulator_ready(self) -> bool:
        return _status(f"http://{HOST}:{self.ports.emulator}/_ministack/ready") == HTTPStatus.OK

    def _is_api_ready(self) -> bool:
        return _status(f"{self.api}/health") == HTTPStatus.OK


def _status(url: str) -> int | None:
    """Return the status of a GET request, or None if the server does not answer yet."""
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            status: int = answer.status
            return status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return None
