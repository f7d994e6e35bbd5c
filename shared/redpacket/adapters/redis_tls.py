"""Connections over TLS; imported only where CACHE_TLS says so.

A default context reads all roots of the machine, 140 certificates or 24 ms of CPU at each cold
start. Caches of AWS need five of them, which take 1 ms.
"""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

from redis.connection import Connection

AMAZON_ROOTS = Path(__file__).with_name("amazon_roots.pem")
"""https://www.amazontrust.com/repository; the first of them ends in 2037."""


class Trust:
    """Who may vouch for a server: Amazon's roots, and the machine's where those don't.

    The machine's are those of OpenSSL, which SSL_CERT_FILE replaces: that is how a cache with a
    certificate authority of its own is trusted. Certificate and host name are always verified.
    """

    def __init__(self) -> None:
        # Python's own defaults, strict as they are, but for the roots.
        self.context = ssl.create_default_context(cafile=AMAZON_ROOTS)
        self._is_wide = False

    def widen(self) -> bool:
        """Trust the machine's roots as well; return whether that is new."""
        if self._is_wide:
            return False
        self.context.load_default_certs()
        self._is_wide = True
        return True


class TlsConnection(Connection):
    """redis-py's own reads the machine's roots at each connect."""

    def __init__(self, host: str, port: int, *, trust: Trust, **options: Any) -> None:  # noqa: ANN401
        self._trust = trust
        super().__init__(host, port, **options)  # type: ignore[no-untyped-call]

    def _connect(self) -> ssl.SSLSocket:
        try:
            return self._shaken()
        except ssl.SSLCertVerificationError:
            if not self._trust.widen():
                raise
        return self._shaken()

    def _shaken(self) -> ssl.SSLSocket:
        sock = super()._connect()  # type: ignore[no-untyped-call]
        try:
            return self._trust.context.wrap_socket(sock, server_hostname=self.host)
        except BaseException:
            sock.close()
            raise
