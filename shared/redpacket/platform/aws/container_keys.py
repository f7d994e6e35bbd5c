"""Credentials from the endpoint that Lambda provides to functions with SnapStart."""

from __future__ import annotations

import json
import time
from calendar import timegm
from collections.abc import Callable
from http.client import HTTPConnection, HTTPException
from typing import Any
from urllib.parse import urlsplit

from redpacket.platform.aws.errors import AwsSilent
from redpacket.platform.aws.signature import Keys

_RENEWED_BEFORE_S = 300
"""Seconds before expiry at which credentials are fetched again."""

_TIMEOUT_S = 1.0
_OK = 200


class ContainerKeys:
    """Provider of temporary credentials, which a snapshot must not contain.

    Each fetch gets the URL and its token from *endpoint*, because a restored function has new ones.
    """

    def __init__(
        self, endpoint: Callable[[], tuple[str, str]], now_s: Callable[[], float] = time.time
    ) -> None:
        self._endpoint, self._now_s = endpoint, now_s
        self._keys = Keys("", "", "")
        self._renewed_at_s = 0.0

    def __call__(self) -> Keys:
        """Return valid credentials. Raises AwsSilent."""
        if self._now_s() >= self._renewed_at_s:
            keys = self._fetch()
            self._keys = Keys(keys["AccessKeyId"], keys["SecretAccessKey"], keys["Token"])
            ends_s = timegm(time.strptime(keys["Expiration"], "%Y-%m-%dT%H:%M:%SZ"))
            self._renewed_at_s = ends_s - _RENEWED_BEFORE_S
        return self._keys

    def _fetch(self) -> dict[str, Any]:
        url, token = self._endpoint()
        address = urlsplit(url)
        connection = HTTPConnection(address.hostname or "", address.port, timeout=_TIMEOUT_S)
        try:
            connection.request(
                "GET", f"{address.path}?{address.query}", headers={"Authorization": token}
            )
            answer = connection.getresponse()
            text = answer.read()
            if answer.status != _OK:
                raise AwsSilent(f"credentials: status {answer.status}")
            document: dict[str, Any] = json.loads(text)
        except (OSError, HTTPException, ValueError) as error:
            raise AwsSilent(f"credentials: {error!r}") from error
        else:
            return document
        finally:
            connection.close()
