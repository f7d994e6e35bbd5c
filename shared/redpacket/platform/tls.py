"""Trust settings for TLS connections; certificate and host name are always verified.

Loading the system's bundle of about a hundred roots takes 20 to 30 ms of CPU in each process.
Loading the five roots of Amazon Trust Services, which AWS recommends, takes 1 ms.
"""

from __future__ import annotations

import ssl
from functools import cache
from pathlib import Path

AMAZON_ROOTS = Path(__file__).with_name("amazon_roots.pem")
"""Amazon's roots, copied from certifi's bundle; `tests/contract/test_tls.py` compares both."""

_AMAZON = ".amazonaws.com"
"""Suffix of hosts of AWS and ElastiCache, except in China, where other roots are used."""


def context_for(host: str, bundle: str = "") -> ssl.SSLContext:
    """Return the TLS context for *host*; *bundle* replaces the default roots."""
    if not bundle and f".{host}".endswith(_AMAZON):
        bundle = str(AMAZON_ROOTS)
    return _context(bundle)


@cache
def _context(bundle: str) -> ssl.SSLContext:
    # Without a file, OpenSSL reads the system's bundle or SSL_CERT_FILE.
    return ssl.create_default_context(cafile=bundle or None)
