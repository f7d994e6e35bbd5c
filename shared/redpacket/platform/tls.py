"""Trust settings for TLS connections; certificate and host name are always verified.

The system's bundle of about a hundred roots takes 20 to 30 ms of CPU in each process and
connection; the five roots of Amazon Trust Services, which AWS recommends, take 1 ms.
"""

from __future__ import annotations

import ssl
from functools import cache
from pathlib import Path

AMAZON_ROOTS = Path(__file__).with_name("amazon_roots.pem")
"""Copy from certifi's bundle; `tests/contract/test_tls.py` compares them."""

_AMAZON = ".amazonaws.com"
"""Suffix of AWS endpoints and ElastiCache. China (`.amazonaws.com.cn`) uses other roots."""


def context_for(host: str, bundle: str = "") -> ssl.SSLContext:
    """Return the TLS context for *host*; *bundle* replaces the default roots."""
    if not bundle and f".{host}".endswith(_AMAZON):
        bundle = str(AMAZON_ROOTS)
    return _context(bundle)


@cache
def _context(bundle: str) -> ssl.SSLContext:
    # Without a file, OpenSSL reads the system's bundle or SSL_CERT_FILE.
    return ssl.create_default_context(cafile=bundle or None)
