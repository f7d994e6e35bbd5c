import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from redpacket.platform.errors import Unavailable
from redpacket.platform.ssrf_safe_http import HttpClient

HOST = "127.0.0.1"


@contextmanager
def _a_server(kind: str) -> Iterator[tuple[str, list[str]]]:
    seen: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(f"{self.headers['Host']} {self.path}")
            if kind == "drips its headers":
                self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Name: ")
                self._drip(b"V")
                return
            self.send_response(302 if kind == "redirects" else 200)
            self.send_header("Location", "/elsewhere")
            self.send_header("X-Name", "Value")
            self.end_headers()
            if kind == "drips":
                self._drip(b"answer")
            else:
                self.wfile.write(b"answer")

        def _drip(self, part: bytes) -> None:
            for _ in range(50):
                self.wfile.write(part)
                self.wfile.flush()
                time.sleep(0.1)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer((HOST, 0), Handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # type: ignore[method-assign]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://{HOST}:{server.server_address[1]}", seen
    server.shutdown()
    thread.join()
    server.server_close()


def test_an_answer_is_read_completely() -> None:
    with _a_server("plain") as (url, seen):
        answer = HttpClient(f"{url}/path", call_ms_max=2_000, allows_private=True).get("a=1")

    assert (answer.status, answer.body) == (200, b"answer")
    assert answer.headers["x-name"] == "Value"
    assert seen == [f"{url.removeprefix('http://')} /path?a=1"]


def test_a_redirect_is_returned_like_any_other_answer() -> None:
    with _a_server("redirects") as (url, seen):
        answer = HttpClient(url, call_ms_max=2_000, allows_private=True).get("a=1")

    assert answer.status == 302
    assert len(seen) == 1


@pytest.mark.parametrize("kind", ["drips", "drips its headers"])
def test_an_answer_that_arrives_too_slowly_times_out(kind: str) -> None:
    with _a_server(kind) as (url, _):
        began_at_s = time.monotonic()
        with pytest.raises(Unavailable):
            HttpClient(url, call_ms_max=500, allows_private=True).get("a=1")
        took_s = time.monotonic() - began_at_s

    assert took_s < 3


INSIDE = (
    *("127.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0"),  # noqa: S104 - not listened to
    *("::1", "fe80::1%eth0", "fd00::1", "::ffff:10.0.0.1", "224.0.0.1", "100.64.0.1"),
    *("::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1", "2001:0:1::1"),
    # IPv4 in IPv6, and addresses for sites, benchmarks, documentation, segment routing and relays.
    *("::169.254.169.254", "::ffff:0:127.0.0.1", "::ffff:8.8.8.8", "64:ff9b:1::a9fe:a9fe"),
    *("::", "fec0::1", "100::1", "5f00::1", "ff0e::1", "4000::1", "fd00:ec2::254"),
    *("2001:2::1", "2001:10::1", "2001:20::1", "2001:db8::1", "3fff::1"),
    *("192.88.99.1", "192.0.0.8", "192.0.2.1", "198.18.0.1", "240.0.0.1", "255.255.255.255"),
)
OUTSIDE = ("8.8.8.8", "203.208.40.1", "2001:4860:4860::8888", "2400:3200::1", "2a00:1450:4001::1")


def test_a_non_global_address_is_not_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    connected: list[object] = []
    monkeypatch.setattr("socket.create_connection", lambda *a, **_: connected.append(a))

    for address in INSIDE:
        # A second, global address must not make the host acceptable.
        addresses = ["8.8.8.8", address]
        outgoing = HttpClient(
            "https://wallet.example/", call_ms_max=500, resolve=lambda *_, row=addresses: row
        )
        with pytest.raises(Unavailable):
            pytest.fail(f"{address}: {outgoing.get('a=1')}")
        with pytest.raises(Unavailable):
            pytest.fail(f"{address}: {outgoing.post(b'', {})}")

    assert not connected


def test_a_global_address_is_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    connected: list[object] = []

    def refuse(address: tuple[str, int], **_: object) -> None:
        connected.append(address[0])
        raise OSError

    monkeypatch.setattr("socket.create_connection", refuse)

    for address in OUTSIDE:
        outgoing = HttpClient(
            "https://wallet.example/", call_ms_max=500, resolve=lambda *_, row=address: [row]
        )
        with pytest.raises(Unavailable):
            outgoing.post(b"{}", {})

    assert connected == list(OUTSIDE)


def test_the_client_connects_to_the_address_that_it_checked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    connected: list[tuple[str, int]] = []
    answers = iter([["8.8.8.8"], ["127.0.0.1"]])

    def connect(address: tuple[str, int], **_: object) -> None:
        connected.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr("socket.create_connection", connect)
    outgoing = HttpClient(
        "https://wallet.example/", call_ms_max=500, resolve=lambda *_: next(answers)
    )

    with pytest.raises(Unavailable):
        outgoing.get("a=1")

    assert connected == [("8.8.8.8", 443)]


def test_only_plain_addresses_can_be_configured() -> None:
    # Plain HTTP is only for private addresses.
    wrong = "ftp://a.example", "https://", "https://me@a.example", "a.example", "https://]!a"
    for url in (*wrong, "http://wallet.example/"):
        with pytest.raises(ValueError, match=r"^(the address must be an https|http is only)"):
            HttpClient(url, call_ms_max=500)


def test_an_error_does_not_contain_the_query() -> None:
    outgoing = HttpClient("http://127.0.0.1:9/", call_ms_max=500, allows_private=True)

    with pytest.raises(Unavailable) as raised:
        outgoing.get("secret=very")

    error: BaseException | None = raised.value
    while error is not None:
        assert "very" not in str(error)
        error = error.__cause__ or error.__context__
