"""Payout queue messages: an envelope around a claim's name, without an amount."""

from __future__ import annotations

from typing import Any

from redpacket.packets.model.claim import ShareRef

SETTLE = "settle_claim"


def settle_message(ref: ShareRef, now_ms: int, request_id: str = "") -> dict[str, Any]:
    """Return the message for one claim; its id depends only on the claim, for deduplication."""
    message: dict[str, Any] = {
        "message_id": f"settle:{ref.packet_id}:{ref.share_no}",
        "kind": SETTLE,
        "version": 1,
        # A delayed message keeps the time of the original one.
        "occurred_at_ms": ref.said_at_ms or now_ms,
        "body": {"packet_id": ref.packet_id, "share_no": ref.share_no},
    }
    if ref.claimer and ref.claimer.host_id:
        message["taker"] = {"host_id": ref.claimer.host_id, "nickname": ref.claimer.nickname}
    if request_id:
        message["request_id"] = request_id
    return message
