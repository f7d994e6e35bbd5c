"""redis-py's TLS connection without its default context, which it makes anew for each one."""

from __future__ import annotations

import ssl
from typing import Any

import redis

from redpacket.adapters.tls import context_for


class TlsConnection(redis.SSLConnection):
    """Verifies as `adapters/tls.py` says; a reconnect makes no new context."""

    def _wrap_socket_with_ssl(self, sock: Any) -> ssl.SSLSocket:  # noqa: ANN401 - redis-py's own
        context = context_for(self.host, self.ca_certs or "")
        return context.wrap_socket(sock, server_hostname=self.host)
