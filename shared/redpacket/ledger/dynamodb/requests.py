"""Idempotent requests: their row is written in the transaction of their result (I10)."""

from __future__ import annotations

from collections.abc import Sequence

from redpacket.platform.dynamodb.client import ConflictPersists, Dynamo, Guarded, Refusal, Row, put
from redpacket.platform.errors import Busy, IdempotencyKeyReused, RedPacketError
from redpacket.platform.idempotency import Request


def transact_once(
    dynamo: Dynamo,
    table: str,
    marker: Row,
    request: Request,
    result: str,
    writes: Sequence[Guarded[Refusal]],
) -> str | Refusal:
    """Execute *writes* with the request's row, and return the first execution's *result*.

    *marker* is the key of that row. If a write is refused, return the first refusal. Raises
    IdempotencyKeyReused, Busy.
    """
    remembered = {**marker, "body_hash": request.body_hash, "result_id": result}
    made_before: Guarded[str | Refusal] = Guarded(
        put(table, remembered), lambda row: result_of(row, request)
    )
    others: list[Guarded[str | Refusal]] = [
        Guarded(write.operation, write.refusal) for write in writes
    ]
    try:
        refused = dynamo.attempt([made_before, *others])
    except ConflictPersists as conflict:
        if 0 in conflict.positions:
            raise Busy from conflict
        raise
    return result if refused is None else refused


def transact_request(
    dynamo: Dynamo,
    table: str,
    marker: Row,
    request: Request,
    result: str,
    writes: Sequence[Guarded[RedPacketError]],
) -> str:
    """Execute *writes* as `transact_once` does, and raise a refusal."""
    made = transact_once(dynamo, table, marker, request, result, writes)
    if isinstance(made, RedPacketError):
        raise made
    return made


def find_result(dynamo: Dynamo, table: str, marker: Row, request: Request) -> str | None:
    """Return the request's result, or None if it never ran. Raises IdempotencyKeyReused."""
    before = dynamo.get(table, marker)
    return result_of(before, request) if before else None


def result_of(before: Row, request: Request) -> str:
    """Return the result from the request's row. Raises IdempotencyKeyReused."""
    if before["body_hash"] != request.body_hash:
        raise IdempotencyKeyReused
    return str(before["result_id"])
