"""Batch handler for settlement messages."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from redpacket.packets.api.packet_ids import packet_ids
from redpacket.packets.model.claim import ShareRef
from redpacket.platform.errors import InvalidRequest
from redpacket.platform.http.request import nickname_of, person_of
from redpacket.platform.telemetry import logger, outcomes, write_line
from redpacket.platform.user import HOST_ID, User

Record = dict[str, Any]

_REQUEST_ID_LENGTH_MAX = 64
_SHARE_NO_MAX = 10**7
"""Upper bound for share numbers, because keys have seven digits for a share."""

_AT_MS_MAX = 10**13


def settle_batch(
    records: Sequence[Record], *, settle: Callable[[Iterable[ShareRef]], set[ShareRef]]
) -> dict[str, list[dict[str, str]]]:
    """Settle the claims of *records*; return SQS's partial batch response.

    Unlike Powertools' processor, this function handles several records in one transaction. A
    malformed record or failed claim fails alone, and goes to the DLQ after five receives. Other
    errors propagate, and SQS redelivers the whole batch.
    """
    named: dict[str, ShareRef] = {}
    asked_for: list[str] = []
    unreadable: list[str] = []
    for record in records:
        try:
            message = _message_of(record["body"])
            # Cap the message's time at SQS's, because a future time could restore an erased user.
            sent_at_ms = int(record.get("attributes", {}).get("SentTimestamp", _AT_MS_MAX))
            ref = named[record["messageId"]] = _ref_of(message, sent_at_ms)
        except InvalidRequest as error:
            logger.failure("message_refused", error, message_id=record["messageId"])
            unreadable.append(record["messageId"])
        else:
            if request_id := str(message.get("request_id", ""))[:_REQUEST_ID_LENGTH_MAX]:
                asked_for.append(f"{request_id} {ref.packet_id}#{ref.share_no}")
    if asked_for:
        write_line("settle", claims=asked_for)
    failed = settle(named.values()) if named else set()
    outcomes.flush()
    unsettled = [message_id for message_id, ref in named.items() if ref in failed]
    return {
        "batchItemFailures": [
            {"itemIdentifier": message_id} for message_id in unreadable + unsettled
        ]
    }


def _claimer_of(message: dict[str, Any]) -> User | None:
    """Parse the claimer; the user id is recomputed from host_id, not read from the message."""
    match message.get("taker"):
        case {"host_id": str(host_id), "nickname": str() | None as nickname} if HOST_ID.fullmatch(
            host_id
        ):
            return person_of(host_id, nickname_of(nickname or ""))
    return None


def _said_at_ms(message: dict[str, Any], sent_at_ms: int) -> int:
    match message.get("occurred_at_ms"):
        case int(at_ms) if 0 < at_ms < _AT_MS_MAX:
            return min(int(at_ms), sent_at_ms)
    return 0


def _message_of(text: str) -> dict[str, Any]:
    try:
        message = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidRequest.of("message", "is not valid JSON") from error
    if not isinstance(message, dict):
        raise InvalidRequest.of("message", "names no claim")
    return message


def _ref_of(message: dict[str, Any], sent_at_ms: int = _AT_MS_MAX) -> ShareRef:
    # Parse by hand, because the schema library would double the cold start.
    # Accept extra envelope fields from later versions, but reject extra body fields.
    match message:
        case {
            "kind": "settle_claim",
            "version": 1,
            "body": {"packet_id": str(packet_id), "share_no": int(share_no), **more},
        } if not more and 0 < share_no < _SHARE_NO_MAX and packet_ids().has_signed(packet_id):
            said_at_ms = _said_at_ms(message, sent_at_ms)
            return ShareRef(packet_id, int(share_no), _claimer_of(message), said_at_ms)
    raise InvalidRequest.of("message", "names no claim")
