"""Reader of a user's money and pending business. Lists may lag; counters reveal missing items."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from redpacket.erasure.model import OutsideRows, Standing
from redpacket.ledger.dynamodb import keys
from redpacket.ledger.dynamodb.books import sums_of
from redpacket.ledger.dynamodb.posting import IS_FOR_CAMPAIGNS
from redpacket.ledger.model import receivable_account, user_account, year_of
from redpacket.operations.dynamodb.audit_log import note_action
from redpacket.operations.model.operators import Action
from redpacket.packets.dynamodb import items
from redpacket.packets.dynamodb import keys as packet_keys
from redpacket.packets.model.claim import ShareRef
from redpacket.packets.model.packet import Packet
from redpacket.payments.dynamodb import keys as payment_keys
from redpacket.payments.dynamodb.items import payment_of, return_of, withdrawal_of
from redpacket.payments.model.payments import Payment
from redpacket.platform.dynamodb.client import Dynamo, Row, update, values
from redpacket.platform.runtime import InParallel

_MINUTE_MS = 60_000


class DynamoHoldings:
    """Reader of a user's money and pending business."""

    def __init__(self, dynamo: Dynamo, in_parallel: InParallel) -> None:
        self._dynamo = dynamo
        self._accounts = dynamo.tables.accounts
        self._packets = dynamo.tables.packets
        self._shares = dynamo.tables.shares
        self._payments = dynamo.tables.payments
        self._audit_table = dynamo.tables.journal
        self._in_parallel = in_parallel

    def standing(self, user_id: str) -> Standing:
        """Return the balance and counters of the user, and the user's debt."""
        row = self._dynamo.get(self._accounts, keys.account(user_account(user_id))) or {}
        sums = sums_of(row, None)
        owed = self._dynamo.get(self._accounts, keys.account(receivable_account(user_id))) or {}
        return Standing(
            balance_fen=int(row.get("balance_fen", 0)),
            open_count=int(row.get("open_count", 0)),
            sent_count=sums.sent_count,
            received_count=sums.received_count,
            owed_fen=-int(owed.get("balance_fen", 0)),
            sent_counts={
                name: int(count) for name, count in row.items() if name.startswith("sent_count_")
            },
        )

    def unmark(self, user_id: str, sent_counts: Mapping[str, int], action: Action) -> bool:
        """Remove an empty account's campaign mark and log *action*; return True if no mark remains.

        Return False if a marked account has money, or if its yearly counters of sent packets are no
        longer *sent_counts*.
        """
        # A send after the caller's reads may have created a counter that *sent_counts* lacks.
        years = {year_of(action.at_ms + shift_ms) for shift_ms in (-_MINUTE_MS, _MINUTE_MS)}
        absent = {f"sent_count_{year}" for year in years} - sent_counts.keys()
        conditions = [
            IS_FOR_CAMPAIGNS,
            "balance_fen = :none",
            *(f"{name} = :{name}" for name in sent_counts),
            *(f"attribute_not_exists({name})" for name in sorted(absent)),
        ]
        key = keys.account(user_account(user_id))
        unmarked = update(
            self._accounts,
            key,
            "REMOVE is_for_campaigns",
            condition=" AND ".join(conditions),
            none=0,
            **sent_counts,
        )
        if self._dynamo.try_transact([unmarked, *note_action(self._audit_table, action)]):
            return True
        return "is_for_campaigns" not in (self._dynamo.get(self._accounts, key) or {})

    def list_claims(self, user_id: str) -> list[ShareRef]:
        """Return references to all shares that a user claimed or won."""
        rows = self._partition(
            self._shares, f"{packet_keys.USER_PREFIX}{user_id}", packet_keys.CLAIMER_PREFIX
        )
        claimers = map(items.claimer_of, rows)
        return [ShareRef(claimer.packet_id, claimer.share_no) for claimer in claimers]

    def list_sent(self, user_id: str) -> list[Packet]:
        """Return the user's packets; the list may lag, but each returned row is current."""
        listed = self._listed(self._packets, packet_keys.sent_list(user_id))
        rows = self._dynamo.get_many(self._packets, listed, is_strong=True)
        return [items.packet_of(row) for row in rows]

    def list_outside(self, user_id: str) -> OutsideRows:
        """Return the user's payments, withdrawals and consents; lists may lag, rows are current."""
        counted = f"{packet_keys.USER_PREFIX}{user_id}"
        # Read counts before lists, so that the lists can contain everything that is counted.
        begun_counts = {
            row["sk"].removeprefix(payment_keys.BEGUN_PREFIX): int(row["begun_count"])
            for row in self._partition(self._payments, counted, payment_keys.BEGUN_PREFIX)
        }
        withdrawn_count = sum(
            int(row["withdrawn_count"])
            for row in self._partition(self._payments, counted, payment_keys.WITHDRAWN_PREFIX)
        )
        payments = self._in_parallel(
            self._payment, self._listed(self._payments, payment_keys.payment_list(user_id))
        )
        listed = self._listed(self._payments, payment_keys.withdrawal_list(user_id))
        consents = self._listed(self._payments, payment_keys.authorization_list(user_id))
        withdrawals = self._dynamo.get_many(self._payments, listed, is_strong=True)
        return OutsideRows(
            payments=[payment for payment, _ in payments],
            withdrawals=[withdrawal_of(row) for row in withdrawals],
            authorization_nos=[
                str(key["pk"]).removeprefix(payment_keys.AUTHORIZATION_PREFIX) for key in consents
            ],
            begun_counts=begun_counts,
            withdrawn_count=withdrawn_count,
            returning_count=sum(count for _, count in payments),
        )

    def _payment(self, key: Row) -> tuple[Payment, int]:
        rows = list(self._partition(self._payments, str(key["pk"])))
        (payment,) = (payment_of(row) for row in rows if row["sk"] == payment_keys.PAYMENT)
        returns = [
            return_of(row) for row in rows if row["sk"].startswith(payment_keys.RETURN_PREFIX)
        ]
        return payment, sum(not returned.is_over for returned in returns)

    def _partition(self, table: str, pk: str, prefix: str = "") -> Iterator[dict[str, Any]]:
        where = "pk = :pk AND begins_with(sk, :prefix)" if prefix else "pk = :pk"
        bound = {"pk": pk, **({"prefix": prefix} if prefix else {})}
        return self._dynamo.query(
            table,
            KeyConditionExpression=where,
            ExpressionAttributeValues=values(**bound),
            ConsistentRead=True,
        )

    def _listed(self, table: str, name: str) -> list[Row]:
        rows = self._dynamo.query(
            table,
            IndexName="by_list",
            KeyConditionExpression="list_pk = :list",
            ExpressionAttributeValues=values(list=name),
        )
        return [{"pk": row["pk"], "sk": row["sk"]} for row in rows]
