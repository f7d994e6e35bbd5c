"""Errors as problem+json (RFC 9457); the only module that maps codes to HTTP statuses."""

from __future__ import annotations

from typing import Any, Final

from redpacket.domain.errors import InvalidRequest, RedPacketError

STATUS_BY_CODE: Final = {
    "idempotency_key_missing": 400,
    "insufficient_funds": 402,
    "forbidden": 403,
    "packet_not_found": 404,
    "idempotency_key_in_use": 409,
    "packet_not_started": 409,
    "packet_emptied": 410,
    "packet_expired": 410,
    "payload_too_large": 413,
    "idempotency_key_reused": 422,
    "invalid_request": 422,
    "split_impossible": 422,
    "internal_error": 500,
    "unavailable": 503,
}

RETRY_AFTER_S = 1
"""With 503 and with a key in use: by then the outcome is known."""

RETRIED = {"unavailable", "idempotency_key_in_use"}


def problem_of(error: Exception, request_id: str) -> tuple[int, dict[str, str], dict[str, Any]]:
    """Return status, headers and body for *error*; an unknown one tells nothing of itself."""
    if isinstance(error, RedPacketError):
        code, detail = error.code, str(error)
    else:
        code, detail = "internal_error", ""
    if code == "internal_error":
        detail = "Something is wrong on our side; it has been reported."
    status = STATUS_BY_CODE[code]
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
    if code in RETRIED:
        headers["retry-after"] = str(RETRY_AFTER_S)
    return status, headers, body
