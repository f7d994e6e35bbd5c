"""Batch handlers for stream records and delivery messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from redpacket.events.model.events import Change
from redpacket.events.model.webhooks import Delivery
from redpacket.platform.errors import InvalidRequest
from redpacket.platform.runtime import EventLogger

Record = Mapping[str, Any]

_FACTS_OF_CLAIMS = ("user_id", "amount_fen", "decided_at_ms")
"""Attributes of a claimed share that never change."""

_UNREADABLE = (KeyError, ValueError, TypeError, AttributeError)


def announce_batch(
    records: Sequence[Record],
    *,
    read: Callable[[Record], Change | None],
    announce: Callable[[Sequence[Change]], int],
    dead_letter: Callable[[Record], None],
    logger: EventLogger,
) -> dict[str, int]:
    """Announce the changes in a stream batch, and return the number of queued deliveries.

    A malformed record is set aside, so that it does not block the others. If a dependency is
    unavailable, the error propagates and Lambda retries the batch for up to 12 hours.
    """

    def set_aside(record: Record, error: Exception) -> None:
        logger.failure("record_unread", error, event_id=str(record.get("eventID", "")))
        dead_letter(record)

    changes: list[tuple[Record, Change]] = []
    for record in records:
        try:
            change = read(record)
        except Exception as error:  # noqa: BLE001 - one bad record must not block the others
            set_aside(record, error)
        else:
            changes += [(record, change)] if change else []

    def announced(some: Sequence[tuple[Record, Change]]) -> int:
        try:
            return announce([change for _, change in some]) if some else 0
        except _UNREADABLE as error:
            # The packet of a share, or the time of an event, is malformed.
            if len(some) == 1:
                set_aside(some[0][0], error)
                return 0
        return sum(announced([pair]) for pair in some)

    return {"queued_count": announced(changes)}


def is_altered(record: Record) -> bool:
    """Return whether a stored value changed, other than the outcome of an approved change.

    A record without row images comes from the audit log, whose rows never change.
    """
    images = record["dynamodb"]
    before, after = images.get("OldImage"), images.get("NewImage", {})
    if before is None:
        return bool(record["eventName"] != "INSERT")
    changed = {name for name, value in before.items() if after.get(name) != value}
    outcome = {"status", "refusal"} if "refusal" in {*before, *after} else set()
    return not changed <= outcome


def is_rewritten(record: Record) -> bool:
    """Return whether a claim's owner, amount or time changed, or a row was removed."""
    images = record["dynamodb"]
    before, after = images.get("OldImage", {}), images.get("NewImage", {})
    if record["eventName"] == "REMOVE":
        return True
    is_claim = before.get("fate") == after.get("fate") == {"S": "claimed"}
    return is_claim and any(
        name in before and after.get(name) != before[name] for name in _FACTS_OF_CLAIMS
    )


def report_altered(
    records: Sequence[Record],
    *,
    is_altered: Callable[[Record], bool],
    dead_letter: Callable[[Record], None],
    logger: EventLogger,
) -> dict[str, int]:
    """Set aside records of row changes that no function should make.

    An alarm is active until an operator has handled all records in the queue. The checked rows
    have no TTL, so a removal by DynamoDB also counts.
    """
    altered = [record for record in records if is_altered(record)]
    for record in altered:
        keys = record["dynamodb"]["Keys"]
        position = keys.get("sk", keys["pk"])["S"]
        logger.event("row_altered", change=record["eventName"], position=position)
        dead_letter(record)
    return {"altered_count": len(altered)}


def deliver_batch(
    records: Sequence[Record],
    *,
    read: Callable[[str], Delivery],
    deliver: Callable[[Sequence[Delivery]], list[Delivery]],
    logger: EventLogger,
) -> dict[str, list[dict[str, str]]]:
    """Send the deliveries of a batch; return the partial batch response for SQS."""
    deliveries: list[tuple[str, Delivery]] = []
    failed: list[str] = []
    for record in records:
        try:
            deliveries.append((record["messageId"], read(record["body"])))
        except InvalidRequest as error:
            logger.failure("message_refused", error, message_id=record["messageId"])
            failed.append(record["messageId"])
    undone = (
        [id(delivery) for delivery in deliver([delivery for _, delivery in deliveries])]
        if deliveries
        else []
    )
    failed += [message_id for message_id, delivery in deliveries if id(delivery) in undone]
    return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in failed]}
