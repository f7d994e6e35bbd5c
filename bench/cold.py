"""CPU cost of cold starts of the grab and payout functions, relative to importing libraries.

Each start is a new process with the files that Lambda would provide: the function's folder, the
layer that `sam build` makes, with its .pyc files, and the runtime's boto3. The bench measures the
process's CPU time, so a busy machine matters little, and takes medians of interleaved rounds.
The loser and the winner are complete first grabs, from the first import to the answer. As on AWS,
both connect with TLS, here to a real cache and to a stub of DynamoDB and SQS with certificates from
a test CA. The bounds in bench/figures.toml limit a function's cost to a multiple of importing boto3
alone. A function with a needless import must exceed its bound, because otherwise the bound would
detect nothing.
"""

import json
import shutil
import subprocess
import threading
import time
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import boto3

from bench.rounds import Figures, interleaved, ratio
from local import places
from local.build import Building
from local.packet_ids import PUBLISHED_KEYS
from local.ports import HOST
from local.seed_keys import PUBLISHED_SEED_KEYS, PUBLISHED_SEEDS
from local.user_ids import PUBLISHED_KEY
from redpacket.operations.ports import SwitchesSeen
from redpacket.operations.redis.switches import RedisSwitches
from redpacket.packets.redis.shards import RedisShards
from redpacket.platform.tls import AMAZON_ROOTS
from testing.builders import a_packet
from testing.in_memory_system import TABLES
from testing.operations.signed_texts import TEXTS
from testing.platform.aws_stub import Call, an_aws_stub
from testing.platform.servers import some_servers
from testing.platform.tls_servers import Authority, tls_before

ROUNDS = 15
RUNTIME_PACKAGES = ("boto3", "botocore", "s3transfer", "jmespath", "dateutil", "urllib3")

# Code that runs before the first command to a server.
_IMPORT = "import app; from redpacket.containers import containers"
GRAB = f"{_IMPORT}; containers.operations.switches; containers.packets.claim_cache"
PAYOUT = f"{_IMPORT}; containers.platform.aws('dynamodb')"
FIRST_GRAB = """
import app, json
answer = app.handler(json.loads({event!r}), None)
assert json.loads(answer["body"]).get({name!r}) == {expected!r}, answer
"""
CONTENDERS = {
    "baseline": "import redis, botocore.session",
    "boto3": "import boto3",
    "grab": GRAB,
    "payout": PAYOUT,
    # A Redis client and two AWS clients without our code, for comparison.
    "clients": (
        "import redis, botocore.session as found; redis.Redis(); session = found.get_session(); "
        "session.create_client('dynamodb'); session.create_client('sqs')"
    ),
    "heavy_grab": f"import boto3, pydantic; {GRAB}",
    "heavy_payout": f"{PAYOUT}; containers.platform.aws_session.create_client('dynamodb')",
}
# First grab in a forked copy of an initialized process, as after a SnapStart restore.
RESTORED_GRAB = """
import os, sys, types
hooks = types.ModuleType("snapshot_restore_py")
hooks.register_after_restore = lambda hook: None
sys.modules["snapshot_restore_py"] = hooks
import app, json
reader, writer = os.pipe()
if os.fork():
    os.close(writer)
    # The copy's lines of log come first.
    print(os.fdopen(reader).read(), end="", flush=True)
    os._exit(os.wait()[1] != 0)
os.dup2(writer, 1)
os.environ.update({credentials!r})
prepared = set(sys.modules)
began_s = time.process_time()
answer = app.handler(json.loads({event!r}), None)
assert json.loads(answer["body"]).get({name!r}) == {expected!r}, answer
assert not set(sys.modules) - prepared, sorted(set(sys.modules) - prepared)
"""
FIRST_GRABS = {
    "loser": ("code", "packet_emptied"),
    "winner": ("outcome", "claimed"),
    # The botocore clients that containers use if the environment has no keys.
    "botocore_winner": ("outcome", "claimed"),
    "restored_loser": ("code", "packet_emptied"),
    "restored_winner": ("outcome", "claimed"),
}

_HOUR_MS = 3_600_000

START = """
import sys, time
sys.path[:0] = {path}
began_s = time.process_time()
{start}
print((time.process_time() - began_s) * 1000)
"""

KEYS = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_SESSION_TOKEN": "token" * 200,
}
ENVIRONMENT = {
    "AWS_DEFAULT_REGION": "us-east-1",
    "CACHE_URL": "rediss://functions@cache.example:6379",
    # As with the template's cache, each connection signs its own token.
    "CACHE_CREDENTIALS": "replicationgroup:redpacket",
    "TABLES": TABLES,
    "PAYOUT_QUEUE_URL": "https://queue.example",
    "PACKET_ID_KEYS": PUBLISHED_KEYS,
    "USER_ID_KEY": PUBLISHED_KEY,
    "SEED_KEYS": PUBLISHED_SEED_KEYS,
    "POWERTOOLS_SERVICE_NAME": "grab",
}


def measure() -> dict[str, float]:
    """Return the figures of this bench."""
    with TemporaryDirectory(prefix="redpacket-") as folder:
        costs_ms = _costs_ms(Path(folder))
    held = [name for name in costs_ms if name not in {"baseline", "boto3", "clients"}]
    return {
        **{f"{name}_ms": round(median(costs), 1) for name, costs in costs_ms.items()},
        "ratio": round(ratio(costs_ms, "baseline", "grab"), 2),
        "winner_ratio": round(ratio(costs_ms, "baseline", "winner"), 2),
        # Compare within a round, because the machine's speed may change between rounds.
        **{f"{name}_over_boto3": round(ratio(costs_ms, "boto3", name), 2) for name in held},
    }


def _costs_ms(folder: Path) -> Figures:
    _unpack(folder)
    _copy_runtime(folder / "runtime")
    with _servers(folder) as environment:
        runs = {name: partial(_start_ms, folder, name, start) for name, start in CONTENDERS.items()}
        users = count()
        runs |= {
            name: partial(_first_grab_ms, folder, name, environment, users) for name in FIRST_GRABS
        }
        # Warm up: this reads the files from disk, and writes the runtime's .pyc files.
        interleaved(runs, rounds=1)
        return interleaved(runs, ROUNDS)


def _first_grab_ms(
    folder: Path, name: str, environment: Mapping[str, str], users: Iterator[int]
) -> float:
    packet_id = environment["EMPTIED" if name.endswith("loser") else "OPEN"]
    event = {
        "routeKey": "POST /packets/{packet_id}/grab",
        "pathParameters": {"packet_id": packet_id},
        "requestContext": {
            "requestId": "request",
            "authorizer": {"jwt": {"claims": {"sub": f"user-{next(users)}"}}},
        },
    }
    key, expected = FIRST_GRABS[name]
    start = FIRST_GRAB.format(event=json.dumps(event), name=key, expected=expected)
    given = dict(environment)
    if name.startswith("restored"):
        given = {each: value for each, value in given.items() if each not in KEYS}
        given["AWS_LAMBDA_INITIALIZATION_TYPE"] = "snap-start"
        credentials = {
            "AWS_CONTAINER_CREDENTIALS_FULL_URI": given.pop("CREDENTIALS_URL"),
            "AWS_CONTAINER_AUTHORIZATION_TOKEN": "token",
        }
        start = RESTORED_GRAB.format(
            credentials=credentials, event=json.dumps(event), name=key, expected=expected
        )
    if name == "botocore_winner":
        given = {
            each: value for each, value in given.items() if each not in {*KEYS, "CACHE_CREDENTIALS"}
        }
        given["AWS_CA_BUNDLE"] = given["ALL_ROOTS"]
    return _start_ms(folder, name, start, given)


def _start_ms(
    folder: Path, name: str, start: str, environment: Mapping[str, str] | None = None
) -> float:
    function = "PayoutFunction" if name.endswith("payout") else "GrabFunction"
    path = [folder / function, folder / "SharedLayer" / "python", folder / "runtime"]
    code = START.format(path=[str(part) for part in path], start=start)
    # -I isolates the process, and -S hides this interpreter's site-packages.
    # The same interpreter compiled the layer's .pyc files.
    done = subprocess.run(
        [places.LAMBDA_PYTHON, "-I", "-S", "-c", code],
        env=ENVIRONMENT | KEYS if environment is None else environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return float(done.stdout.splitlines()[-1])


@contextmanager
def _servers(folder: Path) -> Iterator[dict[str, str]]:
    """Start a cache and an AWS stub behind TLS. Yield a function's environment variables."""
    authority = Authority(folder)
    context = authority.server_context("localhost")
    with ExitStack() as until_the_end:
        cache = until_the_end.enter_context(some_servers())()
        credentials = until_the_end.enter_context(_credentials_endpoint(folder))
        aws = until_the_end.enter_context(an_aws_stub(answer=_answer))
        ports = [
            until_the_end.enter_context(tls_before(port, context))
            for port in (cache.port, aws.port)
        ]
        # This cache accepts any token. On AWS, ElastiCache checks the token.
        cache.admin.execute_command("ACL", "SETUSER", "functions", "on", "nopass", "~*", "+@all")  # type: ignore[no-untyped-call]
        claim_cache, now_ms = RedisShards(cache.admin, PUBLISHED_SEEDS), time.time_ns() // 1_000_000
        life = {"created_at_ms": now_ms - 1000, "expires_at_ms": now_ms + _HOUR_MS}
        packets = {"EMPTIED": a_packet(10_000, 1, **life), "OPEN": a_packet(10_000, 1000, **life)}
        for packet in packets.values():
            claim_cache.load(packet, [], is_new=True)
        claim_cache.grab(packets["EMPTIED"].packet_id, "early")
        RedisSwitches(cache.admin, TEXTS).keep(SwitchesSeen(frozenset()), _HOUR_MS)
        yield {
            **ENVIRONMENT,
            **KEYS,
            **{name: packet.packet_id for name, packet in packets.items()},
            "CACHE_URL": f"rediss://functions@localhost:{ports[0]}",
            "AWS_ENDPOINT_URL": f"https://localhost:{ports[1]}",
            # As many root certificates as on AWS, and the test CA's.
            "SSL_CERT_FILE": _bundle(folder / "few.pem", AMAZON_ROOTS, authority.bundle),
            "ALL_ROOTS": _bundle(
                folder / "all.pem", folder / "runtime/botocore/cacert.pem", authority.bundle
            ),
            "AWS_SHARED_CREDENTIALS_FILE": _credentials(folder),
            "CREDENTIALS_URL": credentials,
        }


def _answer(call: Call) -> dict[str, Any]:
    """Return a successful response of SQS or DynamoDB."""
    return {"MessageId": "message"} if call.target == "SendMessage" else {}


def _bundle(target: Path, *bundles: Path) -> str:
    target.write_bytes(b"".join(bundle.read_bytes() for bundle in bundles))
    return str(target)


def _credentials(folder: Path) -> str:
    lines = ("[default]", *(f"{name.lower()} = {value}" for name, value in KEYS.items()))
    (folder / "credentials").write_text("\n".join(lines))
    return str(folder / "credentials")


@contextmanager
def _credentials_endpoint(folder: Path) -> Iterator[str]:
    """Serve credentials like the endpoint that Lambda gives a restored function."""
    given = {"AccessKeyId": "test", "SecretAccessKey": "test", "Token": "token" * 200}
    path = folder / "credentials.json"
    path.write_text(json.dumps({**given, "Expiration": "2099-01-01T00:00:00Z"}))

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Suppress log lines."""

    server = ThreadingHTTPServer((HOST, 0), partial(Quiet, directory=str(folder)))
    with server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://{HOST}:{server.server_port}/{path.name}"
        server.shutdown()


def _unpack(folder: Path) -> None:
    with Building(print, folder / "build.log") as building:
        archives = building.finish().archives
        for archive in archives:
            if archive.stem in {"SharedLayer", "GrabFunction", "PayoutFunction"}:
                with zipfile.ZipFile(archive) as packed:
                    packed.extractall(folder / archive.stem)


def _copy_runtime(folder: Path) -> None:
    """Copy the packages that Lambda's Python runtime adds to the standard library."""
    installed = Path(boto3.__file__).parents[1]
    for name in RUNTIME_PACKAGES:
        # Link the 25 MB of service models instead of copying them.
        ignored = shutil.ignore_patterns("data", "__pycache__")
        shutil.copytree(installed / name, folder / name, ignore=ignored)
        if (installed / name / "data").exists():
            (folder / name / "data").symlink_to(installed / name / "data")
    shutil.copy(installed / "six.py", folder)
