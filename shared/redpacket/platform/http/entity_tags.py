"""Entity tags, so that unchanged pages are not sent again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import TypeVar

from redpacket.platform.http.api import HttpAnswer
from redpacket.platform.http.parameters import optional
from redpacket.platform.http.request import HttpRequest

Page = TypeVar("Page")


@optional("headers", "If-None-Match", missing="", type="string")
def known_tags_of(text: str) -> str:
    """The `ETag` of the page that the client has."""
    return text


def tagged(body: Page, request: HttpRequest, headers: Mapping[str, str]) -> HttpAnswer[Page]:
    """Return the page, or status 304 if the client already has the page."""
    digest = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()[:32]
    headers = {"etag": f'"{digest}"', **headers}
    if headers["etag"] in known_tags_of(request):
        return HttpAnswer(None, status=304, headers=headers)
    return HttpAnswer(body, headers=headers)
