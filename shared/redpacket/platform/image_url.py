"""Pictures that users name: only from hosts that the deployment trusts."""

from __future__ import annotations

import re
from collections.abc import Container

IMAGE_URL = r"^https://([A-Za-z0-9.-]{1,253})(/[!-\[\]-~]*)?$"
"""Pattern without user, port and backslash: browsers and parsers read those differently."""

UPLOADED = "/pictures/[A-Za-z0-9_-]{22}"
"""Path of an uploaded picture."""

COVER_URL = (
    r"^(?:https://([A-Za-z0-9.-]{1,253})(/[!-\[\]-~]*)?"
    rf"|/covers/[a-z]{{1,32}}\.svg|{UPLOADED})$"
)
"""The same, or the path of a cover that ships with the page or that a user uploaded."""


def is_on_hosts(url: str, hosts: Container[str]) -> bool:
    """Return whether *url* is an https URL on one of *hosts*; `*.host` matches one level below."""
    matched = re.fullmatch(IMAGE_URL, url)
    if not matched:
        return False
    host = matched[1].lower()
    _, _, parent = host.partition(".")
    return host in hosts or f"*.{parent}" in hosts
