"""HTTP client for the API. Calls that move money send an idempotency key."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeVar

from redpacket_cli.failures import Exit, Failure, no_target, waits
from redpacket_cli.words import translate

if TYPE_CHECKING:
    import httpx

Answer = TypeVar("Answer")

_ASKED_AGAIN = {HTTPStatus.TOO_MANY_REQUESTS}
_TRIES = 6
_NEXT = "x-next-cursor"


@dataclass(frozen=True, slots=True)
class CsvPage:
    """Page of a list in CSV: header line, rows, and the cursor of the next page."""

    head: str
    lines: str
    cursor: str | None


def again(do: Callable[[], Answer]) -> Answer:
    """Make an idempotent call, and retry it up to five times if necessary. Raises Failure."""
    for number in range(_TRIES):
        try:
            return do()
        except Failure as failure:
            if failure.code is not Exit.UNAVAILABLE or number == _TRIES - 1:
                raise
            time.sleep(0.1 * 2**number)
    raise AssertionError


class Api:
    """API client, which is anonymous without a token. Threads can share it."""

    def __init__(self, http: httpx.Client, token: str = "") -> None:
        self._http = http
        self._signed = {"Authorization": f"Bearer {token}"} if token else {}

    def get(self, path: str, query: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return the resource at *path*. Raises Failure."""
        return self._content("GET", path, query=query)

    def put(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Replace the resource at *path*. Raises Failure."""
        return self._content("PUT", path, body)

    def post(
        self,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        key: str = "",
        query: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Post *body*. The API applies requests with the same *key* only once. Raises Failure."""
        return self._content("POST", path, body, key=key, query=query)

    def delete(self, path: str) -> dict[str, Any]:
        """Delete the resource at *path*. Raises Failure."""
        return self._content("DELETE", path)

    def get_csv(self, path: str, query: Mapping[str, Any] | None = None) -> CsvPage:
        """Return a CSV page of the list at *path*. Raises Failure."""
        answer = self._answer("GET", path, query=query, headers={"Accept": "text/csv"})
        # The first line break ends the header, because column names contain none.
        head, _, lines = answer.content.decode("utf-8").partition("\r\n")
        return CsvPage(f"{head}\r\n", lines, answer.headers.get(_NEXT))

    def _content(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        key: str = "",
        query: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        headers = {"Idempotency-Key": key} if key else {}
        try:
            answer = self._answer(method, path, body, query=query, headers=headers)
        except Failure as failure:
            raise _with_key(failure, key) from failure
        content: dict[str, Any] = answer.json() if answer.content else {}
        # Other routes also return 202, for work that continues without an approval.
        if answer.status_code == HTTPStatus.ACCEPTED and "approval_id" in content:
            raise waits(content)
        return content

    def _answer(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str],
    ) -> httpx.Response:
        import httpx

        params = {name: value for name, value in (query or {}).items() if value is not None}
        signed = {**self._signed, **headers}
        try:
            answer = self._http.request(method, path, json=body, headers=signed, params=params)
        except (httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
            raise no_target(f"--api is not an address, like https://HOST: {error}") from None
        except httpx.HTTPError as error:
            why = f"{method} {self._http.base_url.join(path)}: {type(error).__name__}: {error}"
            # A retry without the key might move money twice, so `_with_key` adds the next step.
            if "Idempotency-Key" in headers:
                detail = f"the API does not answer. {why}"
            else:
                detail = (
                    "the API does not answer. Repeat the command, or read "
                    f"docs/runbook/api-errors.md. {why}"
                )
            raise Failure(Exit.UNAVAILABLE, detail) from error
        if answer.is_success:
            return answer
        raise _failure_of(answer)


def _with_key(failure: Failure, key: str) -> Failure:
    """If money may have moved, add to the failure the idempotency key that makes a retry safe."""
    if not key or failure.code is not Exit.UNAVAILABLE:
        return failure
    next_step = translate(f"The result is unknown. Repeat the command only with --key {key}")
    words = f"{translate(str(failure))}\n{next_step}"
    return Failure(
        failure.code, words, {**failure.problem, "detail": words, "idempotency_key": key}
    )


def _failure_of(answer: httpx.Response) -> Failure:
    try:
        problem = answer.json()
    except ValueError:
        problem = {}
    if not isinstance(problem, dict) or "code" not in problem:
        # API Gateway itself answered: unknown route, missing token, throttling, or timeout.
        told = problem.get("message") if isinstance(problem, dict) else None
        detail = told or answer.reason_phrase
        if answer.status_code == HTTPStatus.UNAUTHORIZED:
            detail = translate(
                "the token is missing, expired, or from another issuer: get a new one"
            )
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
    code, detail = problem["code"], problem.get("detail", "")
    name = translate(code)
    words = f"{status} {code if name == code else f'{name} ({code})'}: {detail}"
    for error in problem.get("errors", []):
        told = f"{error.get('field')}: {error.get('message')}"
        if told not in words:
            words += f"\n  {told}"
    return words
