"""Server that answers like AWS, or fails calls as instructed."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias

from local.ports import HOST

JSON = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Says:
    """Response; *cut_off* makes its body end too early, and *ends* only closes the connection."""

    status: int = 200
    body: JSON | bytes = field(default_factory=dict)
    cut_off: bool = False
    ends: bool = False


@dataclass(frozen=True, slots=True)
class Hangs:
    """Behavior that gives no answer until the stub ends."""


@dataclass(frozen=True, slots=True)
class Drops:
    """Behavior that closes the connection without an answer."""


Deed: TypeAlias = "Says | Hangs | Drops"


@dataclass(frozen=True, slots=True)
class Call:
    """Request that arrived."""

    target: str
    headers: dict[str, str]
    arguments: JSON


class AwsStub:
    """Stub that performs *deeds* in order, and then sends `answer` to each call; it stores the
    requests.
    """

    def __init__(self, deeds: list[Deed], answer: Callable[[Call], JSON]) -> None:
        self.deeds = deeds
        self.answer = answer
        self.calls: list[Call] = []
        self.connection_count = 0
        self.closed = threading.Semaphore(0)
        """Semaphore that is released once for each connection that the server has closed."""

        self.is_over = threading.Event()
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"

    def next_deed(self, call: Call) -> Deed:
        self.calls.append(call)
        return self.deeds.pop(0) if self.deeds else Says(body=self.answer(call))


@contextmanager
def an_aws_stub(*deeds: Deed, answer: Callable[[Call], JSON] = lambda _: {}) -> Iterator[AwsStub]:
    stub = AwsStub(list(deeds), answer)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def setup(self) -> None:
            stub.connection_count += 1
            super().setup()

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            target = self.headers["X-Amz-Target"].rpartition(".")[2]
            deed = stub.next_deed(Call(target, dict(self.headers), json.loads(body)))
            if isinstance(deed, Hangs):
                stub.is_over.wait()
            if not isinstance(deed, Says):
                self.close_connection = True
                return
            text = deed.body if isinstance(deed.body, bytes) else json.dumps(deed.body).encode()
            self.send_response(deed.status)
            self.send_header("Content-Length", str(len(text) + (5 if deed.cut_off else 0)))
            self.end_headers()
            self.wfile.write(text)
            self.close_connection = deed.cut_off or deed.ends

        def log_message(self, *_: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def shutdown_request(self, request: Any) -> None:
            super().shutdown_request(request)
            stub.closed.release()

    with Server((HOST, 0), Handler) as server:
        stub.port = server.server_port
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield stub
        finally:
            stub.is_over.set()
            server.shutdown()
            thread.join()
