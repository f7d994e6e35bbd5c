"""Cache servers that tests start, promote, freeze and kill."""

import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import redis

from local import places
from local.ports import HOST, Ports, is_open
from local.processes import Process, stop_all
from redpacket.platform.redis.client import ServerClient, Word
from redpacket.platform.redis.connect import connect, connection_maker

CACHE_TIMEOUT_S = 0.5
"""Client timeout in production, in seconds."""

START_TIMEOUT_S = 20.0


class Server:
    """Valkey or Redis server; *admin* is the operator's connection to it."""

    def __init__(self, folder: Path, **options: str | int) -> None:
        self.port = Ports.free().cache
        home = folder / str(self.port)
        home.mkdir()
        given = {"bind": HOST, "port": self.port, "save": "", "appendonly": "no", **options}
        words = [
            word
            for name, value in given.items()
            for word in (f"--{name.replace('_', '-')}", str(value))
        ]
        self.process = Process(
            f"cache {self.port}",
            [places.cache_server(), *words],
            log=home / "log",
            env={"PATH": os.environ["PATH"]},
            cwd=home,
        )
        try:
            self.process.wait_until(lambda: is_open(self.port), timeout_s=START_TIMEOUT_S)
            self.admin = OperatorCache(self.port, timeout_s=10)
            self.pid = int(self.info("server")["process_id"])
        except BaseException:
            self.process.stop()
            raise

    def info(self, section: str) -> dict[str, Any]:
        info: Any = self.admin.info(section)
        return dict(info)

    def freeze(self) -> None:
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def kill(self) -> None:
        """Kill the server immediately, as if its machine failed."""
        self.admin.close()
        os.kill(self.pid, signal.SIGKILL)
        self.process.wait()


@contextmanager
def some_servers() -> Iterator[Callable[..., Server]]:
    """Yield a function that starts servers with options of redis.conf; stop the servers at
    the end.
    """
    servers: list[Server] = []

    def start(**options: str | int) -> Server:
        servers.append(Server(Path(folder), **options))
        return servers[-1]

    with tempfile.TemporaryDirectory(prefix="redpacket-") as folder:
        try:
            yield start
        finally:
            for server in servers:
                server.admin.close()
                if server.process.is_running():
                    server.thaw()
            stop_all(server.process for server in servers)


class Address:
    """Host name of the cache, which each new connection resolves to the current server."""

    def __init__(self, server: Server) -> None:
        self.server = server

    def client(self) -> ServerClient:
        """Return a client like the Lambda functions', which resolves the address for each
        connection.
        """
        connect_to = connection_maker(
            has_tls=False, username="", password="", timeout_s=CACHE_TIMEOUT_S
        )
        return ServerClient(lambda: connect_to(HOST, self.server.port))

    def usual_client(self) -> redis.Redis:
        """Return redis-py's client for the naive controls; it resolves the address in the
        same way.
        """
        address = self

        class Connection(redis.Connection):
            def _connect(self) -> Any:
                self.port = address.server.port
                return super()._connect()  # type: ignore[no-untyped-call]

        client = redis.Redis(host=HOST, decode_responses=True, socket_timeout=CACHE_TIMEOUT_S)
        client.connection_pool.connection_class = Connection
        return client


class OperatorCache(redis.Redis):
    """Operator's client, whose `ask` lets it also replace the functions' client."""

    def __init__(self, port: int, timeout_s: float) -> None:
        super().__init__(
            host=HOST,
            port=port,
            decode_responses=True,
            socket_timeout=timeout_s,
            # A new connection sends no commands, so that tests can count commands.
            protocol=2,
            driver_info=None,
        )
        self._functions = connect(
            HOST, port, has_tls=False, username="", password="", timeout_s=timeout_s
        )

    def ask(self, *words: Word) -> Any:
        return self._functions.ask(*words)

    def close(self) -> None:
        self._functions.close()
        super().close()


def wait_for(is_true: Callable[[], bool], what: str, timeout_s: float = START_TIMEOUT_S) -> None:
    give_up_at = time.monotonic() + timeout_s
    while not is_true():
        if time.monotonic() > give_up_at:
            raise TimeoutError(f"{what} never came true")
        time.sleep(0.005)
