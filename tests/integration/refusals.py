"""Check of a refusal's format."""

from typing import Any

import httpx


def assert_refused(answer: httpx.Response, status: int, code: str) -> dict[str, Any]:
    """Check the fields of a permanent refusal, and that it has no Retry-After header."""
    assert (answer.status_code, answer.headers["content-type"]) == (
        status,
        "application/problem+json",
    ), answer.text
    problem: dict[str, Any] = answer.json()
    assert problem["status"] == status
    assert problem["code"] == code
    assert problem["type"] == f"/problems/{code.replace('_', '-')}"
    assert problem["title"]
    assert problem["detail"]
    assert problem["instance"]
    assert "retry-after" not in answer.headers
    return problem
