"""HTTP client for configured URLs; by default, it refuses private addresses (SSRF)."""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from functools import cache
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from io import BufferedReader, RawIOBase
from ipaddress import IPv6Address, ip_address, ip_network
from types import MappingProxyType
from urllib.parse import urlsplit

from redpacket.platform.errors import Unavailable
from redpacket.platform.time_budget import time_budget

_ANSWER_BYTES_MAX = 64 * 1024 * 1024
_CHUNK_BYTES = 64 * 1024
_INVALID_URL = "the address must be an https URL without a user"

Resolve = Callable[[str, int], list[str]]


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """HTTP response; header names are lowercase."""

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)


def _resolve(host: str, port: int) -> list[str]:
    addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(address[0]) for *_, address in addresses]


class HttpClient:
    """HTTP client for a single URL.

    The client resolves the host name once for each request and connects to the checked address, so
    that DNS changes cannot lead to a private network. Redirects are not followed.
    """

    def __init__(
        self,
        url: str,
        *,
        call_ms_max: int,
        allows_private: bool = False,
        answer_bytes_max: int = _ANSWER_BYTES_MAX,
        resolve: Resolve = _resolve,
    ) -> None:
        try:
            address = urlsplit(url)
        except ValueError:
            raise ValueError(_INVALID_URL) from None
        if address.scheme not in {"https", "http"} or not address.hostname or address.username:
            raise ValueError(_INVALID_URL)
        if address.scheme == "http" and not allows_private:
            raise ValueError("http is only allowed for private addresses")
        self._is_tls = address.scheme == "https"
        self._host, self._port = address.hostname, address.port or (443 if self._is_tls else 80)
        self._host_header = address.netloc
        self._path = (address.path or "/") + (f"?{address.query}" if address.query else "")
        self._call_s_max = call_ms_max / 1_000
        self._allows_private = allows_private
        self._answer_bytes_max = answer_bytes_max
        self._resolve = resolve

    def post(self, body: bytes, headers: Mapping[str, str]) -> HttpAnswer:
        """Send a POST request. Raises Unavailable if no response arrives."""
        return self._send("POST", self._path, body, headers)

    def patch(self, body: bytes, headers: Mapping[str, str]) -> HttpAnswer:
        """Send a PATCH request. Raises Unavailable if no response arrives."""
        return self._send("PATCH", self._path, body, headers)

    def get(self, query: str, headers: Mapping[str, str] = MappingProxyType({})) -> HttpAnswer:
        """Send a GET request; *query* may be secret and is never logged. Raises Unavailable."""
        return self._send("GET", f"{self._path}?{query}", None, headers)

    def _send(
        self, method: str, target: str, body: bytes | None, headers: Mapping[str, str]
    ) -> HttpAnswer:
        answer: HttpAnswer | None = None
        connection: HTTPConnection | None = None
        try:
            deadline_s = time.monotonic() + time_budget.timeout_s(self._call_s_max)
            connection = self._connect(deadline_s)
            connection.request(method, target, body, {"Host": self._host_header, **headers})
            read_until = _ReadUntil(connection.sock, deadline_s)
            with closing(HTTPResponse(read_until, method=method)) as given:  # type: ignore[arg-type]
                given.begin()
                answer = _read(given, self._answer_bytes_max)
        except (OSError, HTTPException, ValueError):
            # Drop the error, whose text may contain the query.
            answer = None
        finally:
            if connection is not None:
                connection.close()
        if answer is None:
            raise Unavailable("an external address does not answer")
        return answer

    def _connect(self, deadline_s: float) -> HTTPConnection:
        address = self._address()
        connection: HTTPConnection
        if self._is_tls:
            connection = HTTPSConnection(self._host, self._port, context=_tls())
        else:
            connection = HTTPConnection(self._host, self._port)
        left_s = max(deadline_s - time.monotonic(), 0.001)
        plain = socket.create_connection((address, self._port), timeout=left_s)
        connection.sock = (
            _tls().wrap_socket(plain, server_hostname=self._host) if self._is_tls else plain
        )
        return connection

    def _address(self) -> str:
        addresses = self._resolve(self._host, self._port)
        for address in addresses:
            # Check all addresses, because DNS servers control their order.
            if not self._allows_private and not _is_global(address):
                raise OSError("not a global address")
        return addresses[0]


_GLOBAL_UNICAST = ip_network("2000::/3")
_SPECIAL = (
    ip_network("2001::/23"),  # Teredo and other protocols that may embed a private IPv4 address
    ip_network("2002::/16"),  # 6to4, which may also embed a private address
    ip_network("2001:db8::/32"),  # documentation
    ip_network("3fff::/20"),
    ip_network("192.88.99.0/24"),  # 6to4 relays
)


def _is_global(address: str) -> bool:
    read = ip_address(address.partition("%")[0])
    if isinstance(read, IPv6Address) and read not in _GLOBAL_UNICAST:
        return False  # includes IPv4-mapped addresses
    if read.is_multicast or any(read in network for network in _SPECIAL):
        return False
    return read.is_global


class _ReadUntil(RawIOBase):
    """Socket reader with an overall deadline, even if headers arrive byte by byte."""

    def __init__(self, connected: socket.socket, deadline_s: float) -> None:
        self._socket = connected
        self._deadline_s = deadline_s

    def makefile(self, _mode: str) -> BufferedReader:
        """Return the reader for `HTTPResponse`."""
        return BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        left_s = self._deadline_s - time.monotonic()
        if left_s <= 0:
            raise TimeoutError
        self._socket.settimeout(left_s)
        return self._socket.recv_into(buffer)


def _read(answer: HTTPResponse, bytes_max: int) -> HttpAnswer:
    body = bytearray()
    while chunk := answer.read1(_CHUNK_BYTES):
        body += chunk
        if len(body) > bytes_max:
            raise ValueError("the answer is too long")
    headers = {name.lower(): value for name, value in answer.getheaders()}
    return HttpAnswer(answer.status, headers, bytes(body))


@cache
def _tls() -> ssl.SSLContext:
    return ssl.create_default_context()
