"""Requests that are carried out once: their row is written with what they make (I10)."""

from __future__ import annotations

from collections.abc import Sequence

from redpacket.adapters.dynamo.client import (
    ConflictPersists,
    Dynamo,
    Operation,
    Row,
    TransactionCanceled,
    put,
)
from redpacket.domain.errors import Busy, IdempotencyKeyReused
from redpacket.ports.accounts import Request


def transact_once(
    dynamo: Dynamo,
    table: str,
    marker: Row,
    request: Request,
    result: str,
    operations: Sequence[Operation],
) -> str:
    """Carry out *operations* with the request's row, and return what the request made, then or now.

    *marker* is the key of that row, *result* what it keeps. Raises TransactionCanceled about
    *operations* alone, IdempotencyKeyReused, Busy.
    """
    remembered = {**marker, "body_hash": request.body_hash, "result_id": result}
    try:
        dynamo.transact([put(table, remembered), *operations])
    except TransactionCanceled as canceled:
        before, *others = canceled.found
        if not before:
            raise TransactionCanceled(others) from canceled
        return result_of(before, request)
    except ConflictPersists as conflict:
        if 0 in conflict.positions:
            raise Busy("a request with this key is under way") from conflict
        raise
    return result


def find_result(dynamo: Dynamo, table: str, marker: Row, request: Request) -> str | None:
    """Return what the request made, None where it was never carried out, by a strong read.

    Raises IdempotencyKeyReused.
    """
    before = dynamo.get(table, marker)
    return result_of(before, request) if before else None


def result_of(before: Row, request: Request) -> str:
    """Return what a request made when it came for the first time, by its row of then."""
    if before["body_hash"] != request.body_hash:
        raise IdempotencyKeyReused("this key came with another body before")
    return str(before["result_id"])
