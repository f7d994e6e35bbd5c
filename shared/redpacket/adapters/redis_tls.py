"""redis-py's TLS connection without its default context, which it makes anew for each one."""

from __future__ import annotations

import ssl
from typing import Any

import redis

from redpacket.adapters.tls import context_for


class TlsConnection(redis.SSLConnection):
    """Verifies as `adapters/tls.py` says; a reconnect makes no new context."""

    def can_read(self, timeout: float = 0) -> bool:
        """Say whether something is left to be read, or the server has ended the connection.

        TLS 1.3 sends session tickets after its handshake, which make a socket readable. redis-py
        takes them for the rest of an earlier answer and refuses the connection, twice.
        """
        if not super().can_read(timeout):
            return False
        sock: Any = self._sock
        sock.settimeout(0)
        try:
            sock.recv(1)
        except ssl.SSLWantReadError:
            # Tickets, and they are read now.
            return bool(super().can_read(0))
        finally:
            sock.settimeout(self.socket_timeout)
        return True

    def _wrap_socket_with_ssl(self, sock: Any) -> ssl.SSLSocket:  # noqa: ANN401 - redis-py's own
        context = context_for(self.host, self.ca_certs or "")
        return context.wrap_socket(sock, server_hostname=self.host)
