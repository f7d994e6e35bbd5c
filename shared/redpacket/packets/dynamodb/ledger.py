"""Ledger of accounts, entries and receipts, with transactions that include packets and shares."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from redpacket.ledger.dynamodb import keys as ledger_keys
from redpacket.ledger.dynamodb.books import BookPages, entry_row, receipt_row, sums_of
from redpacket.ledger.dynamodb.posting import change_balance, post_operations
from redpacket.ledger.model import (
    Entry,
    Receipt,
    Transfer,
    YearSums,
    entries,
    user_account,
    year_of,
)
from redpacket.ledger.ports import ReceivedItem
from redpacket.packets.dynamodb import items, keys
from redpacket.packets.model.claim import Share, ShareRef
from redpacket.packets.model.packet import Packet, PacketEnd, PacketStatus
from redpacket.platform.dynamodb.client import (
    ConflictPersists,
    Dynamo,
    Guarded,
    Operation,
    TransactionCanceled,
    create,
    put,
    refusals,
    update,
)

if TYPE_CHECKING:
    from redpacket.operations.model.operators import Action

IS_CLAIMED_AND_UNSETTLED = (
    # A refunded share has no user. Even with a forged user_id, it still has a refund_no.
    "user_id = :user_id AND amount_fen = :amount_fen"
    " AND attribute_not_exists(settled_at_ms) AND attribute_not_exists(refund_no)"
)
IS_CLOSABLE = "#status = :open OR #status = :closing"
IS_UNPAID = "#status = :unpaid"


class DynamoLedger:
    """Accounts and entries. Each method that writes runs one transaction."""

    def __init__(self, dynamo: Dynamo, *, has_receipts: bool = True) -> None:
        self._dynamo = dynamo
        self._accounts = dynamo.tables.accounts
        self._packets = dynamo.tables.packets
        self._shares = dynamo.tables.shares
        self._has_receipts = has_receipts
        self._books = BookPages(dynamo)

    def settle(self, settlements: Sequence[tuple[Share, Transfer]], now_ms: int) -> set[ShareRef]:
        """Credit claims in one transaction; if it fails, return the claims that made it fail."""
        # Blame a failed share write on its claim, and a failed balance write on the user's claims.
        writes: list[Guarded[set[ShareRef]]] = []
        change_fen: dict[str, list[Transfer]] = defaultdict(list)
        for share, transfer in settlements:
            own = [self._settle_share(share, now_ms)]
            own += [put(self._accounts, entry_row(entry)) for entry in entries(transfer)]
            own += self._receipts([share], transfer.credit, now_ms)
            writes += [_in_the_way(operation, {share.ref}) for operation in own]
            change_fen[transfer.credit].append(transfer)
        for account, transfers in change_fen.items():
            refs = {share.ref for share, transfer in settlements if transfer in transfers}
            change = change_balance(self._accounts, account, transfers)
            writes.append(_in_the_way(change, refs))
        try:
            self._dynamo.transact([write.operation for write in writes])
        except TransactionCanceled as canceled:
            return set().union(*refusals(writes, canceled))
        except ConflictPersists as conflict:
            return set().union(*(writes[position].refusal({}) for position in conflict.positions))
        return set()

    def refund(self, refunds: Sequence[tuple[Sequence[Share], Transfer]], now_ms: int) -> bool:
        """Refund unclaimed shares to the senders; each transfer has the sum for one packet."""
        operations: list[Operation] = []
        for shares, transfer in refunds:
            operations += [create(self._shares, items.share_row(share)) for share in shares]  # I3
            operations += self._receipts(shares, transfer.credit, now_ms)
        transfers = [transfer for _, transfer in refunds]
        return self._dynamo.try_transact([*operations, *post_operations(self._accounts, transfers)])

    def close(self, packet: Packet, end: PacketEnd, now_ms: int) -> bool:
        """Set a packet to CLOSED with its final sums; return False if it is already CLOSED."""
        row = items.end_row(end)
        if packet.terms.sealed and packet.terms.seed:
            # Store the opened seed, so that closed packets don't need the seed key.
            row["opened_seed"] = packet.terms.seed_text
        sums = ", ".join(f"{name} = :{name}" for name in row)
        closed = update(
            self._packets,
            keys.packet(packet.packet_id),
            f"SET #status = :closed, closed_at_ms = :now_ms, {sums} REMOVE work_pk, work_at_ms",
            condition=IS_CLOSABLE,
            closed=PacketStatus.CLOSED,
            open=PacketStatus.OPEN,
            closing=PacketStatus.CLOSING,
            now_ms=now_ms,
            **row,
        )
        counts: dict[str, dict[str, int]] = defaultdict(dict)
        if packet.counts_as_open:
            counts[user_account(packet.sender.user_id)]["open_count"] = -1
        if end.luckiest and packet.has_luckiest:
            luckiest_count = f"luckiest_count_{year_of(end.luckiest.claimed_at_ms)}"
            counts[user_account(end.luckiest.user_id)][luckiest_count] = 1
        changes = [
            update(
                self._accounts,
                ledger_keys.account(account),
                "ADD " + ", ".join(f"{name} :{name}" for name in changed),
                condition=None,
                **changed,
            )
            for account, changed in counts.items()
        ]
        return self._dynamo.try_transact([closed, *changes])

    def cancel_unpaid(self, packet: Packet, now_ms: int, action: Action | None = None) -> bool:
        cancelled = update(
            self._packets,
            keys.packet(packet.packet_id),
            "SET #status = :cancelled, closed_at_ms = :now_ms"
            " REMOVE work_pk, work_at_ms, list_pk, list_sk",
            condition=IS_UNPAID,
            cancelled=PacketStatus.CANCELLED,
            unpaid=PacketStatus.UNPAID,
            now_ms=now_ms,
        )
        freed = update(
            self._accounts,
            ledger_keys.account(user_account(packet.sender.user_id)),
            "ADD open_count :freed, unpaid_count :freed",
            freed=-1,
        )
        # Import lazily: PayoutFunction loads this module, and only operators' actions are logged.
        from redpacket.operations.dynamodb.audit_log import note_action

        noted = note_action(self._dynamo.tables.journal, action)
        return self._dynamo.try_transact([cancelled, freed, *noted])

    def balance_fen(self, account: str) -> int:
        row = self._dynamo.get(self._accounts, ledger_keys.account(account))
        # An account that has only sent unpaid packets has counters but no balance yet.
        return int(row.get("balance_fen", 0)) if row else 0

    def year_sums(self, user_id: str, year: int | None) -> YearSums:
        row = self._dynamo.get(self._accounts, ledger_keys.account(user_account(user_id)))
        return sums_of(row or {}, year)

    def list_entries(
        self, account: str, cursor: str | None, limit: int
    ) -> tuple[list[Entry], str | None]:
        return self._books.list_entries(account, cursor, limit)

    def list_received(
        self, user_id: str, year: int | None, cursor: str | None, limit: int
    ) -> tuple[list[ReceivedItem], str | None]:
        return self._books.list_received(user_account(user_id), year, cursor, limit)

    def list_postings(self, wanted: Sequence[Entry]) -> list[Entry]:
        return self._books.list_postings(wanted)

    def list_receipts(self, refs: Sequence[ShareRef]) -> list[Receipt] | None:
        row_keys = [ledger_keys.receipt(ref.packet_id, ref.share_no) for ref in refs]
        return self._books.list_receipts(row_keys) if self._has_receipts else None

    def _receipts(self, shares: Sequence[Share], account: str, now_ms: int) -> list[Operation]:
        if not self._has_receipts:
            return []
        return [
            put(
                self._accounts,
                receipt_row(
                    Receipt(share.packet_id, share.share_no, account, share.amount_fen, now_ms)
                ),
            )
            for share in shares
        ]

    def _settle_share(self, share: Share, now_ms: int) -> Operation:
        # A shard's last claim stays in the work list until the shard has ended.
        removed = "" if share.is_last else " REMOVE work_pk, work_at_ms"
        return update(
            self._shares,
            keys.share(share.packet_id, share.share_no),
            f"SET settled_at_ms = :now_ms{removed}",
            condition=IS_CLAIMED_AND_UNSETTLED,
            user_id=share.claimer.user_id if share.claimer else "",
            amount_fen=share.amount_fen,
            now_ms=now_ms,
        )


def _in_the_way(operation: Operation, refs: set[ShareRef]) -> Guarded[set[ShareRef]]:
    return Guarded(operation, lambda _: refs)
