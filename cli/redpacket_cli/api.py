"""Calls of the API over HTTP; a repeat of a command carries the same idempotency key."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import httpx

from redpacket_cli.failures import Exit, Failure

_ASKED_AGAIN = {HTTPStatus.TOO_MANY_REQUESTS}


class Api:
    """The API for one token, or for a passer-by without one; safe to use from many threads."""

    def __init__(self, http: httpx.Client, token: str = "") -> None:
        self._http = http
        self._signed = {"Authorization": f"Bearer {token}"} if token else {}

    def get(self, path: str, query: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return what is at *path*. Raises Failure."""
        return self._content("GET", path, query=query)

    def put(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Replace what is at *path*. Raises Failure."""
        return self._content("PUT", path, body)

    def post(
        self,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        key: str = "",
        query: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Post *body*, with *key* once. Raises Failure."""
        return self._content("POST", path, body, key=key, query=query)

    def _content(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        key: str = "",
        query: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        headers = {**self._signed, **({"Idempotency-Key": key} if key else {})}
        asked = {name: value for name, value in (query or {}).items() if value is not None}
        try:
            answer = self._http.request(method, path, json=body, headers=headers, params=asked)
        except httpx.HTTPError as error:
            detail = f"{method} {self._http.base_url.join(path)}: {type(error).__name__}: {error}"
            raise Failure(Exit.UNAVAILABLE, detail) from error
        if answer.is_success:
            content: dict[str, Any] = answer.json() if answer.content else {}
            return content
        raise _failure_of(answer)


def _failure_of(answer: httpx.Response) -> Failure:
    try:
        problem = answer.json()
    except ValueError:
        problem = {}
    if not isinstance(problem, dict) or "code" not in problem:
        # The gateway's own answers: no route, no token, throttled, timed out.
        told = problem.get("message") if isinstance(problem, dict) else None
        detail = told or answer.reason_phrase
        problem = {"code": f"http_{answer.status_code}", "detail": detail}
    request_id = problem.get("instance") or answer.headers.get("apigw-requestid")
    if request_id:
        problem["request_id"] = request_id
    may_repeat = answer.is_server_error or answer.status_code in _ASKED_AGAIN
    code = Exit.UNAVAILABLE if may_repeat else Exit.REFUSED
    return Failure(
        code, _words_of(answer.status_code, problem), {"status": answer.status_code, **problem}
    )


def _words_of(status: int, problem: dict[str, Any]) -> str:
    words = f"{status} {problem['code']}: {problem.get('detail', '')}"
    for error in problem.get("errors", []):
        words += f"\n  {error.get('field')}: {error.get('message')}"
    return words
