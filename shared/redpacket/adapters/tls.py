"""Whom a TLS connection trusts: certificate and host name are always verified.

A system's bundle of a hundred roots takes 20 to 30 ms of CPU to read, in each new process and for
each new connection. AWS tells its users to trust the five roots of Amazon Trust Services; those
take 1 ms. Any other host is verified against the system's bundle.
"""

from __future__ import annotations

import ssl
from functools import cache
from pathlib import Path

AMAZON_ROOTS = Path(__file__).with_name("amazon_roots.pem")
"""As in certifi's bundle, which `tests/contract/test_tls.py` compares."""

_AMAZON = ".amazonaws.com"
"""Endpoints and ElastiCache. Not those of China (`.amazonaws.com.cn`), which other roots signed."""


def context_for(host: str, bundle: str = "") -> ssl.SSLContext:
    """Return the context of a connection to *host*, which *bundle* replaces the roots of."""
    if not bundle and f".{host}".endswith(_AMAZON):
        bundle = str(AMAZON_ROOTS)
    return _context(bundle)


@cache
def _context(bundle: str) -> ssl.SSLContext:
    # Without a file, OpenSSL reads the system's bundle, or SSL_CERT_FILE.
    return ssl.create_default_context(cafile=bundle or None)
