"""Accounts, entries and receipts, and the transactions that tie them to packets and shares."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from redpacket.adapters import keys
from redpacket.adapters.dynamo import items
from redpacket.adapters.dynamo.books import (
    BookPages,
    entry_row,
    receipt_row,
    sums_of,
)
from redpacket.adapters.dynamo.campaigns import spend
from redpacket.adapters.dynamo.client import (
    ConflictPersists,
    Dynamo,
    Guarded,
    Operation,
    Row,
    TransactionCanceled,
    create,
    never_refused,
    put,
    refusals,
    update,
)
from redpacket.adapters.dynamo.posting import (
    HOLDS_ENOUGH,
    change_balance,
    exists,
    is_not_covered,
    kept_sums,
    post,
    post_operations,
)
from redpacket.adapters.dynamo.requests import find_result, transact_once
from redpacket.domain.claim import ShareFate, ShareRef
from redpacket.domain.errors import (
    InvariantViolated,
    RateLimited,
    RedPacketError,
)
from redpacket.domain.ledger import (
    Entry,
    Receipt,
    Transfer,
    YearSums,
    entries,
    user_account,
    year_of,
)
from redpacket.domain.packet import Packet, PacketEnd, PacketStatus, Person
from redpacket.ports.accounts import Request
from redpacket.ports.packets import ReceivedItem

# What the conditions of this module mean.
HAS_ROOM = (
    # Of packets that are open; AND binds first.
    f"{HOLDS_ENOUGH} AND attribute_not_exists(open_count)"
    f" OR {HOLDS_ENOUGH} AND open_count < :open_max"
)
HAS_ROOM_UNPAID = "attribute_not_exists(open_count) OR open_count < :open_max"
IS_CLAIMED_AND_UNSETTLED = (
    # A refunded share has no user, and its number of a refund can't be taken away by a forger.
    "user_id = :user_id AND amount_fen = :amount_fen"
    " AND attribute_not_exists(settled_at_ms) AND attribute_not_exists(refund_no)"
)
IS_CLOSABLE = "#status = :open OR #status = :closing"
IS_UNPAID = "#status = :unpaid"

OPEN_RETRY_S = 60
"""A packet of a sender who has too many may end at any time; sweeps come once a minute."""


class DynamoLedger:
    """Implements Ledger."""

    def __init__(
        self,
        dynamo: Dynamo,
        accounts_table: str,
        packets_table: str,
        shares_table: str,
        campaigns_table: str | None = None,
        profiles_table: str | None = None,
        *,
        has_receipts: bool = True,
        open_packets_max: int | None = None,
    ) -> None:
        self._dynamo = dynamo
        self._accounts = accounts_table
        self._packets = packets_table
        self._shares = shares_table
        # Only who funds packets of campaigns has it.
        self._campaigns = campaigns_table
        # Only functions that get host ids, from tokens or from operators, have it.
        self._profiles = profiles_table
        self._has_receipts = has_receipts
        # Only who funds users' packets has it.
        self._open_packets_max = open_packets_max
        self._books = BookPages(dynamo, accounts_table)

    def fund(self, packet: Packet, transfer: Transfer, request: Request) -> str:
        marker = _sent_by(request)
        rows: list[Guarded[RedPacketError]] = []
        made = [put(self._packets, items.packet_row(packet))]
        if packet.payment_id:
            # Where the payment is never begun, its number still leads to the packet.
            made.append(put(self._packets, items.payment_packet_row(packet)))
        campaign_id = packet.rules.campaign_id
        # Prizes are funded by themselves: a budget is for packets.
        if campaign_id and not packet.rules.prize_id:
            if self._campaigns is None:
                raise InvariantViolated("this ledger knows no campaigns")
            budget, member = spend(self._campaigns, packet, campaign_id)
            rows.append(budget)
            made.append(member)
        rows += [Guarded(row, exists) for row in made]
        people = items.note_person(self._profiles, packet.sender)
        rows += [Guarded(row, never_refused) for row in people]
        if packet.status is PacketStatus.UNPAID:
            # Its payment brings the money; until then it only takes a place.
            rows.append(Guarded(self._open_unpaid(packet), self._open_refusal))
        elif packet.counts_as_open:
            rows += [
                Guarded(put(self._accounts, entry_row(entry)), exists)
                for entry in entries(transfer)
            ]
            rows.append(Guarded(self._open(transfer), self._open_refusal))
        else:
            rows += post(self._accounts, [transfer])
        return self._once(self._packets, marker, request, packet.packet_id, rows)

    def find_sent(self, request: Request) -> str | None:
        return find_result(self._dynamo, self._packets, _sent_by(request), request)

    def find_deposited(self, request: Request) -> str | None:
        return find_result(self._dynamo, self._accounts, _deposited_by(request), request)

    def deposit(self, transfer: Transfer, request: Request, payee: Person | None = None) -> None:
        marker = _deposited_by(request)
        people = items.note_person(self._profiles, payee) if payee else []
        rows: list[Guarded[RedPacketError]] = [Guarded(row, never_refused) for row in people]
        rows += post(self._accounts, [transfer])
        self._once(self._accounts, marker, request, transfer.transfer_id, rows)

    def settle(
        self, settlements: Sequence[tuple[ShareFate, Transfer]], now_ms: int
    ) -> set[ShareRef]:
        # Each is refused for the claims that it is of: a balance is of all claims of its user.
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

    def refund(self, refunds: Sequence[tuple[Sequence[ShareFate], Transfer]], now_ms: int) -> bool:
        operations: list[Operation] = []
        for shares, transfer in refunds:
            operations += [create(self._shares, items.share_row(share)) for share in shares]  # I3
            operations += self._receipts(shares, transfer.credit, now_ms)
        transfers = [transfer for _, transfer in refunds]
        return self._dynamo.try_transact([*operations, *post_operations(self._accounts, transfers)])

    def close(self, packet: Packet, end: PacketEnd, now_ms: int) -> bool:
        row = items.end_row(end)
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
        closed["Update"]["ExpressionAttributeNames"] = {"#status": "status"}
        counts: dict[str, dict[str, int]] = defaultdict(dict)
        if packet.counts_as_open:
            counts[user_account(packet.sender.user_id)]["open_count"] = -1
        if end.luckiest and packet.has_luckiest:
            luckiest_count = f"luckiest_count_{year_of(end.luckiest_at_ms)}"
            counts[user_account(end.luckiest.user_id)][luckiest_count] = 1
        changes = [
            update(
                self._accounts,
                keys.account(account),
                "ADD " + ", ".join(f"{name} :{name}" for name in changed),
                condition=None,
                **changed,
            )
            for account, changed in counts.items()
        ]
        return self._dynamo.try_transact([closed, *changes])

    def cancel_unpaid(self, packet: Packet, now_ms: int) -> bool:
        cancelled = update(
            self._packets,
            keys.packet(packet.packet_id),
            "SET #status = :cancelled, closed_at_ms = :now_ms REMOVE work_pk, work_at_ms",
            condition=IS_UNPAID,
            cancelled=PacketStatus.CANCELLED,
            unpaid=PacketStatus.UNPAID,
            now_ms=now_ms,
        )
        cancelled["Update"]["ExpressionAttributeNames"] = {"#status": "status"}
        freed = update(
            self._accounts,
            keys.account(user_account(packet.sender.user_id)),
            "ADD open_count :freed, unpaid_count :freed",
            freed=-1,
        )
        return self._dynamo.try_transact([cancelled, freed])

    def balance_fen(self, account: str) -> int:
        row = self._dynamo.get(self._accounts, keys.account(account))
        # A row that only counts, like an unpaid packet, has no balance yet.
        return int(row.get("balance_fen", 0)) if row else 0

    def year_sums(self, user_id: str, year: int | None) -> YearSums:
        row = self._dynamo.get(self._accounts, keys.account(user_account(user_id)))
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
        return self._books.list_receipts(refs) if self._has_receipts else None

    def _once(
        self,
        table: str,
        marker: Row,
        request: Request,
        result_id: str,
        writes: Sequence[Guarded[RedPacketError]],
    ) -> str:
        """Carry out a request once, and return the id of what it made then."""
        made = transact_once(self._dynamo, table, marker, request, result_id, writes)
        if isinstance(made, RedPacketError):
            raise made
        return made

    def _open(self, transfer: Transfer) -> Operation:
        """Take a packet's money from its sender, and count it as open, in one update."""
        account, open_max = transfer.debit, self._open_packets_max
        sums = kept_sums(account, [transfer])
        added = {"balance_fen": -transfer.amount_fen, "open_count": 1, **sums}
        return update(
            self._accounts,
            keys.account(account),
            "ADD " + ", ".join(f"{name} :{name}" for name in added),
            condition=HOLDS_ENOUGH if open_max is None else HAS_ROOM,
            needed=transfer.amount_fen,
            **added,
            **({} if open_max is None else {"open_max": open_max}),
        )

    def _open_refusal(self, found: Row) -> RedPacketError:
        """Tell as many open packets as there may be from a debit that is not covered."""
        open_max = self._open_packets_max
        if open_max is not None and int(found.get("open_count", 0)) >= open_max:
            return RateLimited(
                "too many of your packets are open: one must end first", OPEN_RETRY_S
            )
        return is_not_covered(found)

    def _open_unpaid(self, packet: Packet) -> Operation:
        """Count a packet as open that its payment will fund; until then no entry speaks of it."""
        open_max = self._open_packets_max
        return update(
            self._accounts,
            keys.account(user_account(packet.sender.user_id)),
            "ADD open_count :one, unpaid_count :one",
            condition=None if open_max is None else HAS_ROOM_UNPAID,
            one=1,
            **({} if open_max is None else {"open_max": open_max}),
        )

    def _receipts(self, shares: Sequence[ShareFate], account: str, now_ms: int) -> list[Operation]:
        """Return what writes that these shares' money left, once, if receipts are kept."""
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

    def _settle_share(self, share: ShareFate, now_ms: int) -> Operation:
        # The last claim stays in the work list until its packet is closed.
        removed = "" if share.is_last else " REMOVE work_pk, work_at_ms"
        return update(
            self._shares,
            keys.share(share.packet_id, share.share_no),
            f"SET settled_at_ms = :now_ms{removed}",
            condition=IS_CLAIMED_AND_UNSETTLED,
            user_id=share.taker.user_id if share.taker else "",
            amount_fen=share.amount_fen,
            now_ms=now_ms,
        )


def _sent_by(request: Request) -> dict[str, str]:
    return keys.request(request.user_id, "send", request.key_hash)


def _deposited_by(request: Request) -> dict[str, str]:
    return keys.request(request.user_id, "deposit", request.key_hash)


def _in_the_way(operation: Operation, refs: set[ShareRef]) -> Guarded[set[ShareRef]]:
    return Guarded(operation, lambda _: refs)
