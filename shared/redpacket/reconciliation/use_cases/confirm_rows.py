"""Second pass: find the rows behind buckets that do not balance.

Only rows from before the run's moment are read, so no transaction is seen in part.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from redpacket.ledger.model import Entry, Receipt, TransferKind, outside_of, packet_of, refund_id
from redpacket.lottery.model.lottery import Draw, PrizeKind, unit_share
from redpacket.packets.model.claim import Claimer, Share, ShareRef, ShareStatus
from redpacket.packets.model.packet import Packet
from redpacket.payments.model.payments import Payment, PaymentRefund, PaymentReturn
from redpacket.payments.model.withdrawals import Withdrawal
from redpacket.platform.errors import InvariantViolated
from redpacket.reconciliation.checks.facts import Difference, PacketFacts
from redpacket.reconciliation.checks.outside import BookedLine, OutsideRow, asked_lines, check_lines
from redpacket.reconciliation.checks.packets import check_takers
from redpacket.reconciliation.checks.postings import (
    check_posted,
    expected_receipts,
    sent_entry,
    settled_entries,
)
from redpacket.reconciliation.lines import Line, claim_of, outside_entries, packet_named, subject_of
from redpacket.reconciliation.ports import Table
from redpacket.reconciliation.scanned import ClaimCount, Member, Scanned
from redpacket.reconciliation.use_cases.compare_rows import Comparison, ReconcilePorts
from redpacket.reconciliation.use_cases.line_sums import bucket_of, weigh
from redpacket.reconciliation.use_cases.run_state import RunState

_AT_ONCE = 100
_SUBJECTS_NAMED = 5
_BUCKETS_NAMED = 20


class Confirmation(Comparison):
    """Second pass; only rows in suspected buckets are added up and checked."""

    def __init__(self, state: RunState, ports: ReconcilePorts) -> None:
        super().__init__(state, ports)
        self._suspects = set(self._run.suspects)
        self._changed = set(self._run.changed)

    def take_page(self, table: Table, rows: Sequence[Scanned], *, is_last: bool) -> None:
        """Read a page of a table."""
        if table is Table.LOG:
            return  # the first pass reported it: entries never change
        known = self._ports.known
        known.fetch(name for row in rows if (name := packet_named(row)))
        for row in rows:
            packet = self._packet_of(row)
            self._take_lines(table, row, packet)
            if isinstance(row, Claimer):
                self._take_local(row, packet)
        if is_last:
            self._close()
        suspected = iter([row for row in rows if self._is_suspected(row)])
        while some := list(islice(suspected, _AT_ONCE)):
            self._look(some)

    def add(self, table: Table, line: Line) -> None:
        """Add a line again if its bucket is suspected."""
        at_ms, subject, _, _ = line
        bucket = bucket_of(subject)
        if at_ms >= self._run.until_ms or bucket not in self._suspects | self._changed:
            return
        value = weigh(bytes.fromhex(self._run.key), line)
        if bucket in self._suspects:
            self.state.balance.add(subject, value)
        if bucket in self._changed and at_ms < self._run.sealed_until_ms:
            self.add_history(table, subject, value)
        named = self._run.named
        if str(bucket) in named or len(named) < _BUCKETS_NAMED:
            subjects = named.setdefault(str(bucket), [])
            if subject not in subjects and len(subjects) < _SUBJECTS_NAMED:
                subjects.append(subject)

    def tell_unexplained(self) -> None:
        """Report buckets that differ in both passes and have no wrong row."""
        run = self._run
        explained = set(run.explained)
        for bucket in sorted(self.state.balance.unequal_to_zero() & self._suspects - explained):
            self.tell(Difference("I1", self._subjects(bucket), "sum of all that names it", 0, 1))
        for bucket in sorted(self.state.history.unequal(self.state.seal) & self._changed):
            what = f"what was compared up to {run.sealed_until_ms}"
            self.tell(Difference("history", self._subjects(bucket), what, "as then", "changed"))

    def _subjects(self, bucket: int) -> str:
        names = self._run.named.get(str(bucket), [])
        return f"bucket {bucket}: {', '.join(names) or 'nothing is left in it'}"

    def _is_suspected(self, row: Scanned) -> bool:
        subject = subject_of(row)
        return (
            subject is not None
            and bucket_of(subject) in self._suspects
            and _written_at_ms(row) < self._run.until_ms
        )

    def _look(self, rows: Sequence[Scanned]) -> None:
        packet_ids = [packet_id for row in rows if (packet_id := _packet_id(row))]
        self._ports.known.fetch(packet_ids, is_fresh=True)
        refs = [ref for row in rows if (ref := _ref_of(row))]
        fates = {share.ref: share for share in self._ports.packets.list_refs(refs)}
        for row in rows:
            ref = _ref_of(row)
            self._look_at_row(row, fates.get(ref) if ref else None)
        self._look_at_members([row for row in rows if isinstance(row, Packet | Member)])

    def _look_at_row(self, row: Scanned, share: Share | None) -> None:
        if isinstance(row, Entry):
            self._look_at_entry(row, share)
        elif isinstance(row, Receipt):
            self._look_at_receipt(row, share)
        elif isinstance(row, Claimer):
            is_theirs = share and share.taker and share.taker.user_id == row.user_id
            for found in check_takers([share] if share and is_theirs else [], [row]):
                self.tell(found)
        elif isinstance(row, Packet):
            self.audit(row.packet_id)
        elif isinstance(row, OutsideRow):
            self._look_at_outside(row)
        elif isinstance(row, BookedLine):
            self._look_at_line(row)
        elif isinstance(row, ClaimCount):
            self.look_at(Table.SHARES, (row.user_id,), row.campaign_id)
        elif isinstance(row, Share):
            self._look_at_win(row)

    def _look_at_entry(self, entry: Entry, share: Share | None) -> None:
        packet_id = packet_of(entry.counterparty)
        if outside_of(entry.counterparty):
            self._look_at_posted(entry)
            return
        if packet_id is None:
            self._look_at_transfer(entry)
            return
        packet = self._ports.known.packet(packet_id)
        if packet is None:
            what = f"entry {entry.transfer_id} of no packet"
            self.tell(Difference("I1", packet_id, what, 0, entry.amount_fen))
            return
        try:
            is_asked_for = _is_asked_for(entry, packet, share)
        except InvariantViolated:
            return  # the first pass reported its unreadable terms
        if not is_asked_for:
            what = f"entry {entry.transfer_id} of {entry.account}"
            self.tell(Difference("I1", packet_id, what, 0, entry.amount_fen))

    def _look_at_posted(self, entry: Entry) -> None:
        rows = self._ports.tables.list_outside([entry.counterparty])
        if entry not in [wanted for row in rows for wanted in outside_entries(row)]:
            what = f"entry {entry.transfer_id} of {entry.account}"
            self.tell(Difference("I1", entry.counterparty, what, 0, entry.amount_fen))

    def _look_at_line(self, line: BookedLine) -> None:
        rows = self._ports.tables.list_outside([line.account])
        asked = [one for row in rows if isinstance(row, OutsideRow) for one in asked_lines(row)]
        for found in check_lines([one for one in asked if one == line], [line]):
            self.tell(found)

    def _look_at_outside(self, row: OutsideRow) -> None:
        expected = outside_entries(row)
        posted = self._ports.ledger.list_postings(expected)
        subject = subject_of(row) or ""
        for found in check_posted(subject, expected, posted):
            self.tell(found)
        rows = self._ports.tables.list_outside([subject])
        for asker in [one for one in rows if isinstance(one, Payment | Withdrawal)]:
            for line in asked_lines(row):
                booked = self._ports.tables.list_booked(asker.channel, line, asker.created_at_ms)
                for found in check_lines([line], [one for one in booked if one == line]):
                    self.tell(found)

    def _look_at_transfer(self, entry: Entry) -> None:
        other = Entry(
            account=entry.counterparty,
            transfer_id=entry.transfer_id,
            kind=entry.kind,
            amount_fen=-entry.amount_fen,
            counterparty=entry.account,
            at_ms=entry.at_ms,
            placed_at_ms=entry.placed_at_ms,
        )
        if self._ports.ledger.list_postings([other]) != [other]:
            what = "entries of a transfer"
            self.tell(Difference("I1", entry.transfer_id, what, 0, entry.amount_fen))

    def _look_at_receipt(self, receipt: Receipt, share: Share | None) -> None:
        packet = self._ports.known.packet(receipt.packet_id)
        wanted = expected_receipts(PacketFacts(packet, [share])) if packet and share else []
        if wanted != [receipt]:
            self.tell(
                Difference(
                    "I2",
                    receipt.packet_id,
                    f"receipt of share {receipt.share_no}",
                    str(wanted[0] if wanted else None),
                    str(receipt),
                )
            )

    def _look_at_win(self, share: Share) -> None:
        """Report a claimed prize share that no draw won."""
        packet = self._ports.known.packet(share.packet_id)
        if packet is None or not share.taker or not packet.rules.prize_id:
            return
        campaign_id, user_id = packet.rules.campaign_id or "", share.taker.user_id
        draws = self._ports.tables.partition(Table.DRAWS, (campaign_id, user_id))
        if not any(isinstance(draw, Draw) and _wins(draw, share.ref) for draw in draws):
            what = f"draw that won share {share.share_no}"
            self.tell(Difference("I9", share.packet_id, what, "one", "none"))

    def _look_at_members(self, rows: Sequence[Packet | Member]) -> None:
        wanted: dict[tuple[str, str], Member] = {}
        names: list[tuple[str, str]] = []
        for row in rows:
            packet = self._ports.known.packet(row.packet_id)
            if packet and packet.rules.campaign_id and not packet.rules.prize_id:
                name = packet.rules.campaign_id, packet.packet_id
                wanted[name] = Member(*name, packet.terms.total_fen, packet.created_at_ms)
                names.append(name)
            if isinstance(row, Member):
                names.append((row.campaign_id, row.packet_id))
        found = {(row.campaign_id, row.packet_id): row for row in self._members(names)}
        for name in dict.fromkeys(names):
            one, other = wanted.get(name), found.get(name)
            if one != other:
                what = f"paid for by campaign {name[0]}"
                self.tell(Difference("I1", name[1], what, str(one), str(other)))

    def _members(self, names: Sequence[tuple[str, str]]) -> list[Member]:
        return self._ports.tables.list_members(names)


def _written_at_ms(row: Scanned) -> int:
    if isinstance(row, Entry | Receipt):
        return row.at_ms
    if isinstance(row, Claimer):
        return row.claimed_at_ms
    if isinstance(row, Share):
        return row.decided_at_ms
    if isinstance(row, Packet | Member | Payment | Withdrawal):
        return row.created_at_ms
    if isinstance(row, PaymentRefund | PaymentReturn | BookedLine):
        return row.noted_at_ms
    return row.first_at_ms if isinstance(row, ClaimCount) else 0


def _packet_id(row: Scanned) -> str | None:
    if isinstance(row, Entry):
        return packet_of(row.counterparty)
    return row.packet_id if isinstance(row, Receipt | Packet | Member | Share) else None


def _ref_of(row: Scanned) -> ShareRef | None:
    """Return the share of a row; for a refund's entry, the first one of its chunk."""
    if isinstance(row, Receipt | Claimer):
        return ShareRef(row.packet_id, row.share_no)
    if not isinstance(row, Entry):
        return None
    claim = claim_of(row)
    if claim:
        return ShareRef(*claim)
    packet_id, first_no = packet_of(row.counterparty), row.transfer_id.rpartition(":")[2]
    if packet_id is None or row.kind is not TransferKind.REFUND or not first_no.isdecimal():
        return None
    return ShareRef(packet_id, int(first_no))


def _is_asked_for(entry: Entry, packet: Packet, share: Share | None) -> bool:
    """Return whether a packet or its share explains an entry; an audit checks refund sums."""
    if entry.kind is TransferKind.SEND:
        return entry == sent_entry(packet)
    if share is None:
        return False
    if entry.kind is TransferKind.SETTLE:
        return settled_entries([share]) == [entry]
    is_chunk = share.fate is ShareStatus.REFUNDED and share.refund_no == share.share_no
    return (
        is_chunk
        and entry.kind is TransferKind.REFUND
        and entry.transfer_id == refund_id(packet.packet_id, share.share_no)
        and entry.account == sent_entry(packet).account
        and entry.at_ms == share.decided_at_ms
    )


def _wins(draw: Draw, ref: ShareRef) -> bool:
    if draw.prize is None or draw.prize.kind is not PrizeKind.PACKET:
        return False
    try:
        return unit_share(draw.prize, draw.unit_no) == ref
    except InvariantViolated:
        return False
