"""Errors as problem+json (RFC 9457)."""

from __future__ import annotations

from typing import Any

from redpacket.platform.errors import InvalidRequest, RedPacketError


def code_of(error: Exception) -> str:
    """Return the problem code of *error*."""
    return error.code if isinstance(error, RedPacketError) else "internal_error"


def problem_of(error: Exception, request_id: str) -> tuple[int, dict[str, str], dict[str, Any]]:
    """Return status, headers and body; an unknown error does not expose its text."""
    code, detail = code_of(error), str(error)
    if code == "internal_error":
        detail = "Something is wrong on our side; it has been reported."
    status = error.status if isinstance(error, RedPacketError) else 500
    body: dict[str, Any] = {
        "type": f"/problems/{code.replace('_', '-')}",
        "title": code.replace("_", " ").capitalize(),
        "status": status,
        "detail": detail,
        "code": code,
        "instance": request_id,
    }
    if isinstance(error, InvalidRequest):
        body["errors"] = error.errors
    headers = {"content-type": "application/problem+json"}
    if isinstance(error, RedPacketError) and error.retry_after_s is not None:
        headers["retry-after"] = str(error.retry_after_s)
    return status, headers, body
