"""How a refusal looks, and requests that no well-behaved client sends."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

import httpx
import pytest

from local.packet_ids import PUBLISHED_IDS
from tests.integration.conftest import User

# With a right tag, so that it is looked for.
UNKNOWN_PACKET = PUBLISHED_IDS.sign("A" * 22)

WRONG_TYPES = {
    "a boolean": True,
    "a float": 1.5,
    "a whole float": 100.0,
    "a string": "100",
    "an array": [100],
    "an object": {"fen": 100},
}


def assert_refused(answer: httpx.Response, status: int, code: str) -> dict[str, Any]:
    """Check the whole form of a problem; only what passes by itself names a time to ask again."""
    assert (answer.status_code, answer.headers["content-type"]) == (
        status,
        "application/problem+json",
    ), answer.text
    problem: dict[str, Any] = answer.json()
    assert problem["status"] == status
    assert problem["code"] == code
    assert problem["type"] == f"/problems/{code.replace('_', '-')}"
    assert problem["title"] == code.replace("_", " ").capitalize()
    assert problem["detail"]
    assert problem["instance"]
    assert "retry-after" not in answer.headers
    return problem


def assert_invalid(answer: httpx.Response, field: str) -> None:
    """Check that the request was refused because of *field*."""
    problem = assert_refused(answer, 422, "invalid_request")
    assert field in {error["field"] for error in problem["errors"]}
    assert all(error["message"] for error in problem["errors"])


def cases(table: Mapping[str, Any]) -> pytest.MarkDecorator:
    """Parametrize *case* with the values of *table*, named by its keys."""
    return pytest.mark.parametrize("case", list(table.values()), ids=list(table))


def send_raw(user: User, content: bytes | str) -> httpx.Response:
    return user.http.post(
        "/packets",
        content=content,
        headers={"Idempotency-Key": uuid.uuid4().hex, "Content-Type": "application/json"},
    )


def call_raw(user: User, method: str, path: str) -> httpx.Response:
    """Send *path* as it is; httpx would tidy up dots and escapes."""
    request = user.http.build_request(method, "/")
    request.url = request.url.copy_with(raw_path=path.encode())
    return user.http.send(request)
