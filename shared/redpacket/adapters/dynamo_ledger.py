"""Accounts and entries in AccountsTable, and the transactions that tie them to packets."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from redpacket.adapters import items, keys
from redpacket.adapters.dynamo import (
    ConflictPersists,
    Dynamo,
    Operation,
    Row,
    TransactionCanceled,
    check,
    put,
    update,
    values,
)
from redpacket.adapters.dynamo_campaigns import spend, spending_refusal
from redpacket.domain.claim import ShareFate
from redpacket.domain.errors import (
    Busy,
    IdempotencyKeyReused,
    InsufficientFunds,
    InvalidRequest,
    InvariantViolated,
    RedPacketError,
)
from redpacket.domain.ledger import (
    Entry,
    Transfer,
    TransferKind,
    entries,
    escrow_account,
    may_go_below_zero,
)
from redpacket.domain.packet import Packet, PacketStatus
from redpacket.ports import Balance, Paid, Request

# What the conditions of this module mean.
HOLDS_ENOUGH = "balance_fen >= :needed"
IS_CLAIMED_AND_UNSETTLED = (
    # A refunded share has no user.
    "user_id = :user_id AND amount_fen = :amount_fen AND attribute_not_exists(settled_at_ms)"
)
IS_CLOSING = "#status = :closing"
IS_EMPTY = "balance_fen = :zero"

# The sort key of an entry. DynamoDB refuses a range that ends before it begins, and a long key.
ENTRY_CURSOR = re.compile(rf"{keys.ENTRY_PREFIX}[0-9]{{13}}#[!-~]{{1,200}}")


class DynamoLedger:
    """Implements Ledger."""

    def __init__(
        self,
        dynamo: Dynamo,
        accounts_table: str,
        packets_table: str,
        campaigns_table: str | None = None,
    ) -> None:
        self._dynamo = dynamo
        self._accounts = accounts_table
        self._packets = packets_table
        # Only who funds packets of campaigns has it.
        self._campaigns = campaigns_table

    def fund(self, packet: Packet, transfer: Transfer, request: Request) -> str:
        marker = _sent_by(request)
        rows = [put(self._packets, items.packet_row(packet))]
        campaign_id = packet.rules.campaign_id
        # Prizes are funded by themselves: a budget is for packets.
        if campaign_id and not packet.rules.prize_id:
            if self._campaigns is None:
                raise InvariantViolated("this ledger knows no campaigns")
            rows += spend(self._campaigns, packet, campaign_id)
        return self._once(self._packets, marker, request, packet.packet_id, [transfer], rows)

    def find_sent(self, request: Request) -> str | None:
        before = self._dynamo.get(self._packets, _sent_by(request))
        return _result_of(before, request) if before else None

    def deposit(self, transfer: Transfer, request: Request) -> None:
        marker = keys.request(request.user_id, "deposit", request.key_hash)
        self._once(self._accounts, marker, request, transfer.transfer_id, [transfer], [])

    def settle(self, settlements: Sequence[tuple[ShareFate, Transfer]], now_ms: int) -> bool:
        guards = [self._settle_share(share, now_ms) for share, _ in settlements]
        transfers = [transfer for _, transfer in settlements]
        return self._try(
            guards + self._post(transfers, paid=Counter(transfer.debit for transfer in transfers))
        )

    def refund(
        self, packet: Packet, shares: Sequence[ShareFate], transfer: Transfer, now_ms: int
    ) -> bool:
        fates = [put(self._packets, items.share_row(share)) for share in shares]  # I3
        total = self._change_packet(
            packet,
            "SET refunded_fen = refunded_fen + :fen, refunded_at_ms = :now_ms",
            fen=transfer.amount_fen,
            now_ms=now_ms,
        )
        return self._try([*fates, total, *self._post([transfer])])

    def close(self, packet: Packet, now_ms: int) -> bool:
        escrow = keys.account(escrow_account(packet.packet_id))
        closed = self._change_packet(
            packet,
            "SET #status = :closed, closed_at_ms = :now_ms REMOVE work_pk, work_at_ms",
            closed=PacketStatus.CLOSED,
            now_ms=now_ms,
        )
        return self._try([check(self._accounts, escrow, IS_EMPTY, zero=0), closed])

    def scan(self) -> Iterator[Balance | Entry]:
        for row in self._dynamo.scan(self._accounts):
            if row["sk"] == keys.BALANCE:
                yield Balance(str(row["pk"]), int(row["balance_fen"]))
            elif str(row["sk"]).startswith(keys.ENTRY_PREFIX):
                yield entry_of(row)

    def balance_fen(self, account: str) -> int:
        row = self._dynamo.get(self._accounts, keys.account(account))
        return int(row["balance_fen"]) if row else 0

    def find_paid(self, packet_id: str) -> Paid:
        row = self._dynamo.get(self._accounts, keys.account(escrow_account(packet_id))) or {}
        return Paid(int(row.get("paid_count", 0)), int(row.get("paid_fen", 0)))

    def list_empty(self, accounts: Sequence[str]) -> set[str]:
        row_keys = [keys.account(account) for account in dict.fromkeys(accounts)]
        if not row_keys:
            return set()
        rows = self._dynamo.get_many(self._accounts, row_keys, is_strong=True)
        return set(accounts) - {str(row["pk"]) for row in rows if row["balance_fen"]}

    def list_entries(
        self, account: str, cursor: str | None, limit: int
    ) -> tuple[list[Entry], str | None]:
        # The cursor is the last sort key shown: only ever compared, so a forged one shows nothing
        # but another page of the same book.
        if cursor is not None and not ENTRY_CURSOR.fullmatch(cursor):
            raise InvalidRequest([{"field": "cursor", "message": "is no cursor of this list"}])
        last = cursor or f"{keys.ENTRY_PREFIX}~"
        rows = self._dynamo.query_some(
            self._accounts,
            limit + 2,
            KeyConditionExpression="pk = :account AND sk BETWEEN :first AND :last",
            ExpressionAttributeValues=values(account=account, first=keys.ENTRY_PREFIX, last=last),
            ConsistentRead=True,
            ScanIndexForward=False,
        )
        rows = [row for row in rows if row["sk"] != cursor]
        page = rows[:limit]
        next_cursor = str(page[-1]["sk"]) if len(rows) > limit else None
        return [entry_of(row) for row in page], next_cursor

    def _once(
        self,
        table: str,
        marker: Row,
        request: Request,
        result_id: str,
        transfers: Sequence[Transfer],
        rows: Sequence[Operation],
    ) -> str:
        """Carry out a request once, and return the id of what it made then."""
        remembered = {**marker, "body_hash": request.body_hash, "result_id": result_id}
        operations = [put(table, remembered)]
        operations += [*rows, *self._post(transfers)]
        try:
            self._dynamo.transact(operations)
        except TransactionCanceled as canceled:
            before = canceled.found[0]
            if not before:
                raise _refusal(operations, canceled) from canceled
            return _result_of(before, request)
        except ConflictPersists as conflict:
            if 0 in conflict.positions:
                raise Busy("a request with this key is under way") from conflict
            raise
        return result_id

    def _try(self, operations: Sequence[Operation]) -> bool:
        try:
            self._dynamo.transact(operations)
        except TransactionCanceled:
            return False
        return True

    def _post(
        self, transfers: Sequence[Transfer], paid: Mapping[str, int] = MappingProxyType({})
    ) -> list[Operation]:
        """Return the operations that post *transfers*: entries, and one change per account.

        *paid* counts, by escrow, the claims that they pay.
        """
        change_fen: dict[str, int] = defaultdict(int)
        book: list[Operation] = []
        for transfer in transfers:
            for entry in entries(transfer):
                change_fen[entry.account] += entry.amount_fen
                book.append(put(self._accounts, entry_row(entry)))
        changes = [
            self._change_balance(account, fen, paid.get(account, 0))
            for account, fen in change_fen.items()
        ]
        return changes + book

    def _change_balance(self, account: str, fen: int, paid_count: int) -> Operation:
        needs_cover = fen < 0 and not may_go_below_zero(account)
        expression, named = "ADD balance_fen :fen", {"fen": fen}
        if paid_count:
            expression += ", paid_count :count, paid_fen :paid"
            named |= {"count": paid_count, "paid": -fen}
        return update(
            self._accounts,
            keys.account(account),
            expression,
            condition=HOLDS_ENOUGH if needs_cover else None,
            **named,
            **({"needed": -fen} if needs_cover else {}),
        )

    def _settle_share(self, share: ShareFate, now_ms: int) -> Operation:
        return update(
            self._packets,
            keys.share(share.packet_id, share.share_no),
            "SET settled_at_ms = :now_ms REMOVE work_pk, work_at_ms",
            condition=IS_CLAIMED_AND_UNSETTLED,
            user_id=share.taker.user_id if share.taker else "",
            amount_fen=share.amount_fen,
            now_ms=now_ms,
        )

    def _change_packet(self, packet: Packet, expression: str, **named: str | int) -> Operation:
        operation = update(
            self._packets,
            keys.packet(packet.packet_id),
            expression,
            condition=IS_CLOSING,
            closing=PacketStatus.CLOSING,
            **named,
        )
        operation["Update"]["ExpressionAttributeNames"] = {"#status": "status"}
        return operation


def _sent_by(request: Request) -> dict[str, str]:
    return keys.request(request.user_id, "send", request.key_hash)


def _result_of(before: Row, request: Request) -> str:
    """Return what the request made when it came for the first time, by its row of then."""
    if before["body_hash"] != request.body_hash:
        raise IdempotencyKeyReused("this key came with another body before")
    return str(before["result_id"])


def _refusal(operations: Sequence[Operation], canceled: TransactionCanceled) -> RedPacketError:
    """Tell a debit that is not covered from an id that was used before, which is a bug."""
    failed = [
        operation
        for operation, found in zip(operations, canceled.found, strict=True)
        if found is not None
    ]
    for operation, found in zip(operations, canceled.found, strict=True):
        if found is not None and (refusal := spending_refusal(operation, found)):
            return refusal
    if all("Update" in operation for operation in failed):
        return InsufficientFunds("the account does not hold that much")
    return InvariantViolated("a packet or transfer of this id exists already")


def entry_row(entry: Entry) -> dict[str, str | int | bool]:
    """Return the row of one side of a transfer."""
    return {
        **keys.entry(entry.account, entry.at_ms, entry.transfer_id),
        "transfer_id": entry.transfer_id,
        "kind": entry.kind,
        "amount_fen": entry.amount_fen,
        "counterparty": entry.counterparty,
        "at_ms": entry.at_ms,
    }


def entry_of(row: dict[str, Any]) -> Entry:
    """Read an entry's row."""
    return Entry(
        account=row["pk"],
        transfer_id=row["transfer_id"],
        kind=TransferKind(row["kind"]),
        amount_fen=row["amount_fen"],
        counterparty=row["counterparty"],
        at_ms=row["at_ms"],
    )
