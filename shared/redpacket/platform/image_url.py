"""Picture URLs from users, limited to hosts that the deployment trusts."""

from __future__ import annotations

import re
from collections.abc import Callable, Container

IMAGE_URL = r"^https://([A-Za-z0-9.-]{1,253})(/[!-\[\]-~]*)?$"
"""Pattern of https URLs without a user, port or backslash, which parsers treat differently."""

UPLOADED = "/pictures/[A-Za-z0-9_-]{22}"
"""Path of an uploaded picture."""

_OR_OF_THE_PAGE = rf"^(?:{IMAGE_URL[1:-1]}|/%s/[a-z]{{1,32}}\.svg|{UPLOADED})$"
COVER_URL = _OR_OF_THE_PAGE % "covers"
"""IMAGE_URL, or the path of a cover that ships with the page or that a user uploaded."""

AVATAR_URL = _OR_OF_THE_PAGE % "seals"
"""IMAGE_URL, or the path of a seal that ships with the page or an avatar that a user uploaded."""


def absolute_url(
    url: str, hosts: Container[str], page_url: str, owns: Callable[[str], bool]
) -> str:
    """Return the absolute URL for an image's URL or its path on the page.

    *owns* returns whether the user uploaded the picture at a path. Raises ValueError for another
    user's picture and for a host outside *hosts*; the error's text is the reason.
    """
    is_own_page = url.startswith((f"{page_url}/pictures/", f"{page_url}/seals/"))
    path = url.removeprefix(page_url) if is_own_page else url
    if path.startswith("/"):
        if path.startswith("/pictures/") and not owns(path):
            raise ValueError("is not a picture of yours. Upload it again")
        return page_url + path
    if not is_on_hosts(url, hosts):
        raise ValueError("is not on a host of this deployment")
    return url


def is_on_hosts(url: str, hosts: Container[str]) -> bool:
    """Return whether *url* is an https URL on *hosts*, where `*.host` matches direct subdomains."""
    matched = re.fullmatch(IMAGE_URL, url)
    if not matched:
        return False
    host = matched[1].lower()
    _, _, parent = host.partition(".")
    return host in hosts or f"*.{parent}" in hosts
