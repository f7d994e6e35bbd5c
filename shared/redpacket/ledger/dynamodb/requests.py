"""Idempotent requests, whose rows are written in the same transaction as their result (I10).

If a restore loses the row next to the result, the copy in AccountsTable identifies a retry.
"""

from __future__ import annotations

from collections.abc import Sequence

from redpacket.ledger.dynamodb import keys
from redpacket.ledger.model import CASES, TransferKind
from redpacket.platform.dynamodb.client import (
    ConflictPersists,
    Dynamo,
    Guarded,
    Operation,
    Refusal,
    Row,
    put,
)
from redpacket.platform.errors import Busy, IdempotencyKeyReused, RedPacketError
from redpacket.platform.idempotency import Request, hash_of_key


def transact_once(
    dynamo: Dynamo,
    table: str,
    route: str,
    request: Request,
    result: str,
    writes: Sequence[Guarded[Refusal]],
) -> str | Refusal | None:
    """Execute *writes* with the request's rows, and return None.

    If the request ran before or a write is refused, change nothing, and return the earlier result
    or the first refusal. Raises IdempotencyKeyReused, Busy.
    """
    kept = {"body_hash": request.body_hash, "result_id": result}
    rows: list[Guarded[str | Refusal]] = [
        Guarded(put(each, {**key, **kept}), lambda row: _result_of(row, request))
        for each, key in _places(dynamo, table, route, request)
    ]
    others: list[Guarded[str | Refusal]] = [
        Guarded(write.operation, write.refusal) for write in writes
    ]
    try:
        return dynamo.attempt([*rows, *others])
    except ConflictPersists as conflict:
        if conflict.positions & set(range(len(rows))):
            raise Busy from conflict
        raise


def transact_request(
    dynamo: Dynamo,
    table: str,
    route: str,
    request: Request,
    result: str,
    writes: Sequence[Guarded[RedPacketError]],
) -> str | None:
    """Execute *writes* like `transact_once`, but raise the refusal."""
    before = transact_once(dynamo, table, route, request, result, writes)
    if isinstance(before, RedPacketError):
        raise before
    return before


def find_result(dynamo: Dynamo, table: str, route: str, request: Request) -> str | None:
    """Return the earlier result of a request, or None. Raises IdempotencyKeyReused."""
    for each, key in _places(dynamo, table, route, request):
        if before := dynamo.get(each, key):
            return _result_of(before, request)
    return None


def close_case(dynamo: Dynamo, case: str, result: str) -> list[Operation]:
    """Return the writes that reserve a case for one deposit; they fail if the case has one."""
    request = Request(CASES, hash_of_key(case), "")
    kept = {"body_hash": request.body_hash, "result_id": result}
    places = _places(dynamo, dynamo.tables.accounts, TransferKind.DEPOSIT, request)
    return [put(table, {**key, **kept}) for table, key in places]


def _places(
    dynamo: Dynamo, table: str, route: str, request: Request
) -> list[tuple[str, dict[str, str]]]:
    """Return the tables and keys of a request's row (next to its result) and of the row's copy."""
    return [
        (table, keys.request(request.user_id, route, request.key_hash)),
        (dynamo.tables.accounts, keys.request_copy(request.id_of(route))),
    ]


def _result_of(before: Row, request: Request) -> str:
    if before["body_hash"] != request.body_hash:
        raise IdempotencyKeyReused
    return str(before["result_id"])
