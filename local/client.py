"""HTTP client for the API, used by the local commands and by tests."""

import ssl
import time
import uuid
from collections.abc import Callable
from typing import Any, Self

import httpx

from local.errors import StackError

NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""TLS context without certificates: plain HTTP needs none, and loading them takes 15 ms."""

# Timeout in seconds. A cold start on a busy machine takes a few seconds.
ANSWER_TIMEOUT_S = 30.0
# On a busy machine, functions that start cold may return 503 for a while, because calls to the
# cache or ledger time out.
TRIES = 20


class Client:
    """HTTP client for a user, or for a visitor without a token; many threads may share it."""

    def __init__(self, api: str, token: str | None = None) -> None:
        self._http = httpx.Client(
            base_url=api,
            headers={"Authorization": f"Bearer {token}"} if token else {},
            timeout=ANSWER_TIMEOUT_S,
            trust_env=False,
            verify=NO_TLS,
        )

    def __enter__(self) -> Self:
        """Return the client."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the client's connections."""
        self._http.close()

    def get(self, path: str) -> dict[str, Any]:
        """Return the resource at *path*."""
        return _content(until_answered(lambda: self._http.get(path)))

    def put(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Replace the resource at *path*."""
        return _content(until_answered(lambda: self._http.put(path, json=body)))

    def post(self, path: str, body: dict[str, Any], key: str | None = None) -> dict[str, Any]:
        """Post *body* and return the result; with *key*, a retry has no further effect."""
        once = key or uuid.uuid4().hex
        return _content(until_answered(lambda: self.try_post(path, body, once)))

    def try_post(self, path: str, body: dict[str, Any], key: str | None = None) -> httpx.Response:
        """Post *body* and return the response, even if it is an error."""
        return self._http.post(
            path, json=body, headers={"Idempotency-Key": key or uuid.uuid4().hex}
        )


def until_answered(ask: Callable[[], httpx.Response]) -> httpx.Response:
    """Retry a request while the response is 503 or lost. The request must be idempotent.

    Raises StackError if every response is lost.
    """
    answer, lost = None, ""
    for number in range(TRIES):
        if number:
            time.sleep(1)
        try:
            answer = ask()
        except httpx.TransportError as error:
            lost = f"{type(error).__name__}: {error}"
            continue
        if answer.status_code != httpx.codes.SERVICE_UNAVAILABLE:
            break
    if answer is None:
        raise StackError(f"no answer in {TRIES} tries ({lost}): read the logs in .local/state")
    return answer


def _content(answer: httpx.Response) -> dict[str, Any]:
    if answer.is_success:
        content: dict[str, Any] = answer.json()
        return content
    request = answer.request
    raise StackError(
        f"{request.method} {request.url.path} was answered {answer.status_code}: {answer.text}. "
        "See .local/state/*/logs/emulator.log"
    )
