"""Errors as problem+json (RFC 9457)."""

from __future__ import annotations

from typing import Any

from redpacket.platform.errors import (
    Contended,
    InvalidRequest,
    InvariantViolated,
    RedPacketError,
    Unavailable,
)

_INTERNAL = (Contended, Unavailable, InvariantViolated)
"""Base classes of errors whose messages are only logged.

Clients get the default text of the first class in this tuple that the error is an instance of.
"""


def code_of(error: Exception) -> str:
    """Return the problem code of *error*."""
    return error.code if isinstance(error, RedPacketError) else InvariantViolated.code


def problem_of(error: Exception, request_id: str) -> tuple[int, dict[str, str], dict[str, Any]]:
    """Return status, headers and body; the text of an unknown error stays hidden."""
    if not isinstance(error, RedPacketError):
        error = InvariantViolated()
    internal = next((kind for kind in _INTERNAL if isinstance(error, kind)), None)
    body: dict[str, Any] = {
        "type": f"/problems/{error.code.replace('_', '-')}",
        "title": error.title,
        "status": error.status,
        "detail": internal.text() if internal else str(error),
        "code": error.code,
        "instance": request_id,
    }
    if isinstance(error, InvalidRequest):
        body["errors"] = error.errors
    headers = {"content-type": "application/problem+json"}
    if error.retry_after_s is not None:
        headers["retry-after"] = str(error.retry_after_s)
    return error.status, headers, body
