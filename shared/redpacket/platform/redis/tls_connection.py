"""TLS connections, imported only if CACHE_URL starts with `rediss:`."""

from __future__ import annotations

import ssl
from typing import Any

from redis.connection import Connection

from redpacket.platform.tls import context_for


class TlsConnection(Connection):
    """Connection with the TLS context of `platform/tls.py`; redis-py would reread all roots."""

    def __init__(self, host: str, port: int, *, ca_bundle: str, **options: Any) -> None:  # noqa: ANN401
        self._ca_bundle = ca_bundle
        super().__init__(host, port, **options)  # type: ignore[no-untyped-call]

    def _connect(self) -> ssl.SSLSocket:
        sock = super()._connect()  # type: ignore[no-untyped-call]
        try:
            context = context_for(self.host, self._ca_bundle)
            return context.wrap_socket(sock, server_hostname=self.host)
        except BaseException:
            sock.close()
            raise
