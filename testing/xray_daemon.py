"""Receives what functions send to X-Ray, as the daemon beside them does on Lambda."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from local.ports import HOST

Document = dict[str, Any]

_HEADER = {"format": "json", "version": 1}
_DATAGRAM_BYTES_MAX = 64 * 1024


@dataclass(frozen=True, slots=True)
class XRayDaemon:
    """A port of UDP, whose buffer keeps what was sent until it is asked for."""

    port: socket.socket

    @property
    def address(self) -> str:
        host, port = self.port.getsockname()
        return f"{host}:{port}"

    def received(self) -> list[Document]:
        """Return the documents that came since the last time; those who sent them have ended."""
        documents: list[Document] = []
        while True:
            try:
                datagram = self.port.recv(_DATAGRAM_BYTES_MAX)
            except BlockingIOError:
                return documents
            header, document = datagram.split(b"\n", 1)
            assert json.loads(header) == _HEADER
            documents.append(json.loads(document))


@contextmanager
def an_xray_daemon() -> Iterator[XRayDaemon]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as port:
        port.bind((HOST, 0))
        port.setblocking(False)  # noqa: FBT003 - the socket's own form
        yield XRayDaemon(port)
