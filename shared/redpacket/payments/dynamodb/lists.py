"""Lists of PaymentsTable, newest first, read strongly consistently after the index."""

from __future__ import annotations

import re
from typing import Any

from redpacket.ledger.dynamodb import keys
from redpacket.payments.dynamodb import keys as payment_keys
from redpacket.payments.dynamodb.items import SHARDS, refund_of, return_of, withdrawal_of
from redpacket.payments.model.payments import PaymentRefund, PaymentReturn, ReturnStatus
from redpacket.payments.model.provider_name import ProviderName
from redpacket.payments.model.withdrawals import Withdrawal
from redpacket.payments.ports import PAYMENTS_CURSOR
from redpacket.platform.dynamodb.client import Dynamo, Row, to_wire, values
from redpacket.platform.errors import invalid_cursor

CURSOR = re.compile(PAYMENTS_CURSOR)

_KINDS = ("transfer", "look")
"""Work lists of withdrawals: to call, and to query."""


class DynamoPaymentLists:
    """Operators' lists, newest first. Raises InvalidRequest for a bad cursor."""

    def __init__(self, dynamo: Dynamo) -> None:
        self._dynamo = dynamo
        self._payments = dynamo.tables.payments

    def list_listed_returns(
        self, cursor: str | None, limit: int
    ) -> tuple[list[PaymentReturn], str | None]:
        """Return a page of returns that wait for an operator, and the next cursor."""
        rows, more = self._page(payment_keys.LISTED_RETURNS, cursor, limit)
        returns = [return_of(row) for row in rows]
        return [returned for returned in returns if returned.status is ReturnStatus.LISTED], more

    def list_debts(self, cursor: str | None, limit: int) -> tuple[list[PaymentRefund], str | None]:
        """Return a page of outside refunds that left a debt, paid or not, and the next cursor."""
        rows, more = self._page(payment_keys.DEBTS, cursor, limit)
        return [refund_of(row) for row in rows], more

    def list_pending_withdrawals(
        self, cursor: str | None, limit: int
    ) -> tuple[list[Withdrawal], str | None]:
        """Return a page of withdrawals that have not ended, by work list, the oldest first."""
        first, _, begin = (cursor or "0").partition(".")
        lists = [
            keys.work(f"{kind}-{each}", n)
            for kind in _KINDS
            for each in ProviderName
            for n in SHARDS
        ]
        page: list[dict[str, Any]] = []
        for number in range(int(first), len(lists)):
            place = {"ExclusiveStartKey": to_wire(_place(lists[number], begin))} if begin else {}
            room, begin = limit - len(page), ""
            if not room:
                return self._withdrawals(page), str(number)
            rows = self._dynamo.query_some(
                self._payments,
                room + 1,
                IndexName="by_work",
                KeyConditionExpression="work_pk = :work",
                ExpressionAttributeValues=values(work=lists[number]),
                **place,
            )
            page += rows[:room]
            if len(rows) > room:
                last = page[-1]
                number_of = str(last["pk"]).removeprefix(payment_keys.WITHDRAWAL_PREFIX)
                return self._withdrawals(page), f"{number}.{last['work_at_ms']}.{number_of}"
        return self._withdrawals(page), None

    def _withdrawals(self, page: list[dict[str, Any]]) -> list[Withdrawal]:
        rows = read_page(self._dynamo, self._payments, page)
        return [withdrawal for row in rows if not (withdrawal := withdrawal_of(row)).is_final]

    def _page(
        self, name: str, cursor: str | None, limit: int
    ) -> tuple[list[dict[str, Any]], str | None]:
        page, more = page_of(self._dynamo, self._payments, name, cursor, limit)
        return read_page(self._dynamo, self._payments, page), more


def _place(work_list: str, begin: str) -> Row:
    """Return the position of a withdrawal in a work list."""
    work_at_ms, _, withdrawal_id = begin.partition(".")
    row_key = payment_keys.withdrawal(withdrawal_id)
    return {**row_key, "work_pk": work_list, "work_at_ms": int(work_at_ms)}


def page_of(
    dynamo: Dynamo, table: str, name: str, cursor: str | None, limit: int
) -> tuple[list[dict[str, Any]], str | None]:
    """Return a page of the index and the next cursor. Raises InvalidRequest for a bad *cursor*."""
    if cursor is not None and not CURSOR.fullmatch(cursor):
        raise invalid_cursor()
    first, last = keys.list_position(0, ""), cursor or keys.list_position(10**13 - 1, "~")
    listed = dynamo.query_some(
        table,
        limit + 2,
        IndexName="by_list",
        KeyConditionExpression="list_pk = :list AND list_sk BETWEEN :first AND :last",
        ExpressionAttributeValues=values(list=name, first=first, last=last),
        ScanIndexForward=False,
    )
    rows = [row for row in listed if row["list_sk"] != cursor]
    page = rows[:limit]
    return page, str(page[-1]["list_sk"]) if len(rows) > limit else None


def read_page(dynamo: Dynamo, table: str, page: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a page's full rows in order; the index may lag and has no amounts."""
    row_keys: list[Row] = [{"pk": row["pk"], "sk": row["sk"]} for row in page]
    rows = {(row["pk"], row["sk"]): row for row in dynamo.get_many(table, row_keys, is_strong=True)}
    return [existing for key in row_keys if (existing := rows.get((key["pk"], key["sk"])))]
