"""Operators' lists and work lists in PaymentsTable, read through indexes."""

from __future__ import annotations

import re
from typing import Any

from redpacket.ledger.dynamodb import keys
from redpacket.ledger.provider_name import ProviderName
from redpacket.payments.dynamodb import keys as payment_keys
from redpacket.payments.dynamodb.items import SHARDS, refund_of, return_of, withdrawal_of
from redpacket.payments.model.payments import PaymentRefund, PaymentReturn, ReturnStatus
from redpacket.payments.model.withdrawals import Withdrawal
from redpacket.payments.ports import PAYMENTS_CURSOR, PENDING_CURSOR
from redpacket.platform.dynamodb.client import Dynamo, Row, values
from redpacket.platform.dynamodb.lists import NewestFirst, list_across, read_in_order
from redpacket.platform.errors import invalid_cursor

_WORK_LISTS = [
    keys.work(f"{kind}-{each}", n)
    for kind in ("transfer", "look")
    for each in ProviderName
    for n in SHARDS
]
"""Partitions of withdrawals that wait for a call to the provider or for a query."""


class DynamoPaymentLists:
    """Lists for operators. Methods raise InvalidRequest for a bad cursor."""

    def __init__(self, dynamo: Dynamo) -> None:
        self._dynamo = dynamo
        self._payments = dynamo.tables.payments
        self._lists = NewestFirst(dynamo, self._payments, PAYMENTS_CURSOR)

    def list_listed_returns(
        self, cursor: str | None, limit: int
    ) -> tuple[list[PaymentReturn], str | None]:
        """Return a page of returns that wait for an operator, and the next cursor."""
        rows, more = self._lists.read_page(payment_keys.LISTED_RETURNS, cursor, limit)
        returns = [return_of(row) for row in rows]
        return [returned for returned in returns if returned.status is ReturnStatus.LISTED], more

    def list_debts(self, cursor: str | None, limit: int) -> tuple[list[PaymentRefund], str | None]:
        """Return a page of outside refunds that left a debt, even a repaid one, and a cursor."""
        rows, more = self._lists.read_page(payment_keys.DEBTS, cursor, limit)
        return [refund_of(row) for row in rows], more

    def list_pending_withdrawals(
        self, cursor: str | None, limit: int
    ) -> tuple[list[Withdrawal], str | None]:
        """Return a page of pending withdrawals, oldest first per work list, and a cursor."""
        if cursor is not None and not re.fullmatch(PENDING_CURSOR, cursor):
            raise invalid_cursor()
        first, _, begin = (cursor or "0").partition(".")
        rows, last = list_across(
            self._dynamo, self._payments, _WORK_LISTS, (int(first), _place(begin)), limit
        )
        read = read_in_order(self._dynamo, self._payments, rows)
        pending = [each for row in read if not (each := withdrawal_of(row)).is_final]
        if last is None:
            return pending, None
        withdrawal_id = str(last[1]["pk"]).removeprefix(payment_keys.WITHDRAWAL_PREFIX)
        return pending, f"{last[0]}.{last[1]['work_at_ms']}.{withdrawal_id}"


def _place(begin: str) -> Row:
    """Return the position of a withdrawal in its work list."""
    if not begin:
        return {}
    work_at_ms, _, withdrawal_id = begin.partition(".")
    return {**payment_keys.withdrawal(withdrawal_id), "work_at_ms": int(work_at_ms)}


def oldest(
    dynamo: Dynamo, table: str, kind: str, until_ms: int, limit: int
) -> list[dict[str, Any]]:
    """Return the oldest rows of a work list that are due by *until_ms*."""
    rows = [
        row
        for shard in SHARDS
        for row in dynamo.query_some(
            table,
            limit,
            IndexName="by_work",
            KeyConditionExpression="work_pk = :work AND work_at_ms <= :until_ms",
            ExpressionAttributeValues=values(work=keys.work(kind, shard), until_ms=until_ms),
        )
    ]
    return sorted(rows, key=lambda row: int(row["work_at_ms"]))[:limit]
