"""Errors as problem+json (RFC 9457), and the mapping of codes to HTTP statuses."""

from __future__ import annotations

from typing import Any, Final

from redpacket.platform.errors import InvalidRequest, RedPacketError

STATUS_BY_CODE: Final = {
    "idempotency_key_missing": 400,
    "signature_invalid": 401,
    "insufficient_funds": 402,
    "attempts_exhausted": 403,
    "forbidden": 403,
    "four_eyes": 403,
    "grab_token_invalid": 403,
    "help_quota_exhausted": 403,
    "not_in_audience": 403,
    "not_invited": 403,
    "passphrase_mismatch": 403,
    "quota_exhausted": 403,
    "self_help": 403,
    "withdrawal_limit_reached": 403,
    "approval_not_found": 404,
    "campaign_not_found": 404,
    "packet_not_found": 404,
    "payment_not_found": 404,
    "switch_not_found": 404,
    "webhook_not_found": 404,
    "withdrawal_not_found": 404,
    "account_not_empty": 409,
    "campaign_ended": 409,
    "campaign_not_started": 409,
    "campaign_paused": 409,
    "idempotency_key_in_use": 409,
    "not_cancellable": 409,
    "openid_in_use": 409,
    "packet_not_started": 409,
    "payee_not_bound": 409,
    "proof_not_ready": 409,
    "version_conflict": 409,
    "packet_emptied": 410,
    "packet_expired": 410,
    "payload_too_large": 413,
    "amount_too_large": 422,
    "amount_too_small": 422,
    "channel_unavailable": 422,
    "code_invalid": 422,
    "idempotency_key_reused": 422,
    "invalid_request": 422,
    "split_impossible": 422,
    "rate_limited": 429,
    "internal_error": 500,
    "switched_off": 503,
    "unavailable": 503,
}


def code_of(error: Exception) -> str:
    """Return the problem code of *error*."""
    return error.code if isinstance(error, RedPacketError) else "internal_error"


def problem_of(error: Exception, request_id: str) -> tuple[int, dict[str, str], dict[str, Any]]:
    """Return status, headers and body; an unknown error does not expose its text."""
    code, detail = code_of(error), str(error)
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
    if isinstance(error, RedPacketError) and error.retry_after_s is not None:
        headers["retry-after"] = str(error.retry_after_s)
    return status, headers, body
