"""First pass over the tables: sums of lines, partitions, and single rows.

Rows that may be changing are read again, strongly, before a difference is reported.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from redpacket.fairness.log_ports import Commitments, LogBook
from redpacket.ledger.model import Entry, user_account
from redpacket.lottery.model.lottery import CampaignSnapshot
from redpacket.lottery.ports import DrawRepository
from redpacket.packets.errors import PacketNotFound, SplitImpossible
from redpacket.packets.ledger_ports import Ledger
from redpacket.packets.model.claim import Claimer, Share, ShareStatus
from redpacket.packets.model.packet import Packet, PacketStatus
from redpacket.packets.ports import ClaimCache, PacketRepository
from redpacket.packets.split import share_amount_fen
from redpacket.payments.model.payments import Payment, PaymentReturn
from redpacket.payments.model.provider import bill_day
from redpacket.payments.model.withdrawals import GIVEN_UP_AFTER_MS, Withdrawal
from redpacket.platform.errors import CacheAway, InvariantViolated, Unavailable
from redpacket.platform.runtime import Clock, EventLogger
from redpacket.reconciliation.checks.facts import Difference
from redpacket.reconciliation.checks.ledger import check_bounds
from redpacket.reconciliation.checks.lottery import check_player
from redpacket.reconciliation.checks.outside import check_outside_in_time, check_withdrawn
from redpacket.reconciliation.checks.packets import (
    check_late_claims,
    check_late_close,
    check_packet_exists,
    check_unpaid_counts,
)
from redpacket.reconciliation.lines import (
    OPEN_COUNT,
    Line,
    booked_fen,
    first_claim_line,
    held_fen,
    lines_of,
    local_lines,
    owner_of,
    packet_named,
)
from redpacket.reconciliation.ports import Table, Tables
from redpacket.reconciliation.scanned import Balance, Played, Scanned, UnreadableRow, Withdrawn
from redpacket.reconciliation.use_cases.audit_packet import LATE_AFTER_MS, audit_packet
from redpacket.reconciliation.use_cases.cached_rows import CachedRows
from redpacket.reconciliation.use_cases.compare_draws import DrawComparison, unfunded
from redpacket.reconciliation.use_cases.compare_log import LogComparison
from redpacket.reconciliation.use_cases.line_sums import bucket_of, weigh
from redpacket.reconciliation.use_cases.run_state import DIFFERENCES_KEPT, LocalSums, RunState

LOOKS = 4
"""Looks at a changing partition before it is left to the next run."""

BETWEEN_LOOKS_MS = 300
"""A committing transaction may be partly visible for some milliseconds."""

_INDEX_LAG_MS = 20_000
"""Milliseconds between two looks at counts, because the index that lists their rows may lag."""

LATE_OUTSIDE_MS = GIVEN_UP_AFTER_MS
"""I8 for payments and returns, which wait while their gateway is unavailable."""

_LIMIT_DAYS = 3
"""Days whose withdrawn sums are compared: a limit no longer reads those of older days."""

_DAY_MS = 24 * 3_600_000

_ENDS_KEPT = 1_000
"""Subjects that are looked at again at the end."""

_ROWS_AT_ONCE = 500

_RULES = {
    Table.ACCOUNTS: "I1",
    Table.CAMPAIGNS: "I1",
    Table.PAYMENTS: "I1",
    Table.SHARES: "I9",
    Table.DRAWS: "I9",
}

_TIMES = {table: times for times, table in enumerate(Table, start=2)}
"""Factor per table in the history's sums; otherwise both sides of a line would cancel."""


@dataclass(kw_only=True)
class ReconcilePorts:
    """Ports of a comparison, with the rows read so far."""

    tables: Tables
    packets: PacketRepository
    ledger: Ledger
    draws: DrawRepository
    claim_cache: ClaimCache
    log_book: LogBook
    commitments: Commitments
    clock: Clock
    journal: EventLogger
    cache_is_away: bool = False
    beat: Callable[[], None] = lambda: None
    """Called regularly during long work."""

    def __post_init__(self) -> None:
        self.known = CachedRows(self.packets, self.draws)
        self.has_receipts = self.ledger.list_receipts([]) is not None


class Comparison:
    """One pass over the tables; *state* has its progress."""

    def __init__(self, state: RunState, ports: ReconcilePorts) -> None:
        self.state = state
        self._ports = ports
        self._run = state.progress
        self._draws = DrawComparison(
            ports.tables, ports.packets, ports.known, ports.clock, self._run.until_ms, self.tell
        )
        self._log = LogComparison(ports.log_book, ports.commitments, self._run, self.tell)

    def tell(self, found: Difference) -> None:
        """Record and log a difference, once."""
        run = self._run
        if found in run.differences:
            return
        run.difference_count += 1
        if len(run.differences) < DIFFERENCES_KEPT:
            run.differences.append(found)
        if found.rule in {"I1", "I2", "I3", "I4", "I6", "I9"}:
            run.explained = sorted({*run.explained, bucket_of(found.subject)})
        self._ports.journal.event(
            "difference_found",
            rule=found.rule,
            subject=found.subject,
            what=found.what,
            expected=found.expected,
            actual=found.actual,
        )

    def take_page(self, table: Table, rows: Sequence[Scanned], *, is_last: bool) -> None:
        """Add a page of a table."""
        if table is Table.LOG:
            self._run.row_count += len(rows)
            self._log.walk(rows, is_last=is_last)
            return
        self._ports.known.fetch(name for row in rows if (name := packet_named(row)))
        closed: list[LocalSums] = []
        for row in rows:
            self._count(row)
            packet = self._packet_of(row)
            self._take_lines(table, row, packet)
            closed += self._take_local(row, packet)
            self._check_row(row, packet)
        closed += self._close() if is_last else []
        self._compare_closed(table, closed)
        if table is Table.DRAWS:
            self._draws.check(rows)
        if table is Table.SHARES:
            self._compare_cache(rows)
        if table in (Table.PACKETS, Table.CAMPAIGNS):
            self._log.compare_subjects(rows)
        self._compare_counts(rows)

    def _count(self, row: Scanned) -> None:
        run = self._run
        run.row_count += 1
        run.account_count += isinstance(row, Balance)
        run.entry_count += isinstance(row, Entry)
        run.packet_count += isinstance(row, Packet)
        run.booked_fen += booked_fen(row, run.until_ms)
        run.held_fen += held_fen(row, run.until_ms)

    def _packet_of(self, row: Scanned) -> Packet | None:
        name = packet_named(row)
        return self._ports.known.packet(name) if name else None

    def _take_lines(self, table: Table, row: Scanned, packet: Packet | None) -> None:
        try:
            for line in lines_of(row, packet, has_receipts=self._ports.has_receipts):
                self.add(table, line)
        except InvariantViolated as error:
            if isinstance(row, Packet):
                what = "terms that can be read"
                self.tell(Difference("I3", row.packet_id, what, "all", str(error)))
                return
            # `DrawComparison` reports a win without a packet.
            self.tell(Difference("I9", str(error), "share of a won unit", "one", "none"))

    def add(self, table: Table, line: Line) -> None:
        """Add a line to the sums; the next run takes lines that are too new."""
        at_ms, subject, _, _ = line
        run, state = self._run, self.state
        if at_ms >= run.until_ms:
            return
        value = weigh(bytes.fromhex(run.key), line)
        state.balance.add(subject, value)
        if at_ms < run.sealed_until_ms:
            self.add_history(table, subject, value)
        else:
            state.fresh.add(subject, value * _TIMES[table])

    def add_history(self, table: Table, subject: str, value: int) -> None:
        """Add a line from before the last run, which must not have changed."""
        self.state.history.add(subject, value * _TIMES[table])

    def _take_local(self, row: Scanned, packet: Packet | None) -> list[LocalSums]:
        """Add a row to its partition's sums; return the sums of the partition that ended."""
        owner = owner_of(row)
        if owner is None:
            return []
        closed = [] if owner == self._run.local.owner else self._close()
        local = self._run.local
        local.owner = owner
        for name, expected, actual in local_lines(row, packet):
            numbers = local.numbers.setdefault(name, [0, 0])
            numbers[0] += expected
            numbers[1] += actual
            if isinstance(row, Claimer):
                first_ms = local.firsts.get(name, row.claimed_at_ms)
                local.firsts[name] = min(first_ms, row.claimed_at_ms)
        return closed

    def _close(self) -> list[LocalSums]:
        local, self._run.local = self._run.local, LocalSums()
        for campaign_id, at_ms in local.firsts.items():
            self.add(Table.SHARES, first_claim_line(campaign_id, local.owner[0], at_ms))
        return [local] if local.owner else []

    def _compare_closed(self, table: Table, closed: Iterable[LocalSums]) -> None:
        if table is Table.SHARES:
            pairs = [(name, local.owner[0]) for local in closed for name in local.numbers]
            counts = self._ports.tables.count_claims(pairs)
            for local in closed:
                for name, numbers in local.numbers.items():
                    numbers[1] = counts.get((name, local.owner[0]), 0)
        for local in closed:
            if any(expected != actual for expected, actual in local.numbers.values()):
                self.look_at(table, local.owner)

    def look_at(self, table: Table, owner: tuple[str, ...], campaign_id: str = "") -> None:
        """Read a partition until two looks agree, and report their differences."""
        before: dict[str, tuple[int, int]] | None = None
        for _ in range(LOOKS):
            found = self._unequal(table, owner, campaign_id)
            if not found:
                return
            if found == before:
                break
            before = found
            self._ports.clock.sleep_ms(BETWEEN_LOOKS_MS)
        else:
            self._run.moving_count += 1
            return
        for name, (expected, actual) in found.items():
            subject, what = " ".join(owner), name
            if table is Table.SHARES:
                subject, what = f"{name} {owner[0]}", "claims counted"
            rule = "I9" if name == OPEN_COUNT else _RULES[table]
            self.tell(Difference(rule, subject, what, expected, actual))

    def _unequal(
        self, table: Table, owner: tuple[str, ...], campaign_id: str
    ) -> dict[str, tuple[int, int]]:
        numbers: dict[str, list[int]] = defaultdict(lambda: [0, 0])
        rows = self._ports.tables.partition(table, owner)
        while page := list(islice(rows, _ROWS_AT_ONCE)):
            self._ports.beat()
            names = (name for row in page if (name := packet_named(row)))
            self._ports.known.fetch(names, is_fresh=True)
            for row in page:
                for name, expected, actual in local_lines(row, self._packet_of(row)):
                    numbers[name][0] += expected
                    numbers[name][1] += actual
        if table is Table.SHARES:
            pairs = [(name, owner[0]) for name in {*numbers, campaign_id} - {""}]
            for (name, _), count in self._ports.tables.count_claims(pairs).items():
                numbers[name][1] = count
        return {name: (one, two) for name, (one, two) in sorted(numbers.items()) if one != two}

    def _check_row(self, row: Scanned, packet: Packet | None) -> None:
        found: list[Difference] = []
        if isinstance(row, UnreadableRow):
            found = [Difference("I3", row.key, "row that can be read", "yes", "no")]
        elif isinstance(row, Entry):
            found = check_bounds({}, [row])
        elif isinstance(row, Balance):
            found = check_bounds({row.account: row.balance_fen}, [])
        elif isinstance(row, Payment | PaymentReturn | Withdrawal):
            found = check_outside_in_time([row], self._ports.clock.now_ms(), LATE_OUTSIDE_MS)
        elif isinstance(row, Share):
            found = self._check_fate(row, packet)
        elif isinstance(row, Packet):
            self._check_packet(row)
        elif isinstance(row, Played):
            found = check_player(row.campaign_id, row.player)
        elif isinstance(row, CampaignSnapshot) and unfunded(
            row, self._ports.packets, self._ports.clock.now_ms()
        ):
            self._look_at_end(f"campaign {row.campaign.campaign_id}")
        for difference in found:
            self.tell(difference)

    def _check_fate(self, share: Share, packet: Packet | None) -> list[Difference]:
        if packet is None:
            return check_packet_exists([share], ())
        is_settled = share.fate is ShareStatus.REFUNDED or share.settled_at_ms is not None
        is_late = not is_settled and (
            packet.status is PacketStatus.CLOSED
            or check_late_claims([share], self._ports.clock.now_ms(), LATE_AFTER_MS)
        )
        is_invited = not share.taker or packet.rules.invites(share.taker.user_id)
        if is_late or not is_invited or share.amount_fen != _worth_fen(packet, share.share_no):
            self.audit(share.packet_id)
        return []

    def _check_packet(self, packet: Packet) -> None:
        now_ms = self._ports.clock.now_ms()
        end = packet.end
        if packet.status is PacketStatus.CLOSED:
            is_whole = (
                end is not None
                and end.claimed_fen + end.refunded_fen == packet.funded_fen
                and end.claimed_count + end.refunded_count == packet.terms.count
            )
            if not is_whole:
                self.audit(packet.packet_id)
        elif check_late_close(packet, now_ms, LATE_AFTER_MS):
            self.audit(packet.packet_id)
        elif self.end_differs(packet):
            self._look_at_end(f"packet {packet.packet_id}")

    def end_differs(self, packet: Packet) -> int | None:
        """Return the campaign's end if an open prize packet has another one."""
        rules = packet.rules
        if not (rules.prize_id and rules.campaign_id) or packet.status is not PacketStatus.OPEN:
            return None
        lottery = self._ports.known.lottery(rules.campaign_id)
        ends_at_ms = lottery.campaign.ends_at_ms if lottery else 0
        return None if packet.expires_at_ms == ends_at_ms else ends_at_ms

    def _look_at_end(self, name: str) -> None:
        if len(self._run.ends) < _ENDS_KEPT:
            self._run.ends.append(name)

    def _compare_counts(self, rows: Iterable[Scanned]) -> None:
        """Note the counts that differ now: money may be moving, and indexes lag."""
        first_day = bill_day(self._ports.clock.now_ms() - _LIMIT_DAYS * _DAY_MS)
        names: dict[str, None] = {}
        for row in rows:
            if isinstance(row, Withdrawn | Withdrawal) and row.day >= first_day:
                names[f"withdrawn {row.user_id} {row.day}"] = None
            elif isinstance(row, Balance) and row.unpaid_count:
                names[f"unpaid {row.account}"] = None
            elif isinstance(row, Packet) and row.status is PacketStatus.UNPAID:
                names[f"unpaid {user_account(row.sender.user_id)}"] = None
        for name in names:
            self._ports.beat()
            differences, _ = self._counted(name)
            if differences:
                self._look_at_end(name)

    def look_at_counts(self, names: Iterable[str]) -> None:
        """Report the counts that differ in two looks at the same rows.

        If the rows have changed, each look may have seen a different half of a change.
        """
        first = {name: seen for name in names if (seen := self._counted(name))[0]}
        if first:
            # Let the second look see all that the first count had.
            self._ports.clock.sleep_ms(BETWEEN_LOOKS_MS + _INDEX_LAG_MS)
        for name, seen in first.items():
            if self._counted(name) == seen:
                for found in seen[0]:
                    self.tell(found)

    def _counted(self, name: str) -> tuple[list[Difference], set[Packet] | set[Withdrawal]]:
        """Compare the unpaid packets of an account, or a user's withdrawals of a day."""
        kind, *subject = name.split(" ")
        if kind == "unpaid":
            rows = self._ports.tables.list_unpaid(subject[0])
            counts = {row.account: row.unpaid_count for row in rows if isinstance(row, Balance)}
            unpaid = {row for row in rows if isinstance(row, Packet)}
            return check_unpaid_counts(unpaid, counts), unpaid
        user_id, day = subject
        rows = self._ports.tables.list_withdrawn(user_id, day)
        withdrawn = {
            (row.user_id, row.day): (row.count, row.fen)
            for row in rows
            if isinstance(row, Withdrawn)
        }
        withdrawals = {row for row in rows if isinstance(row, Withdrawal)}
        return check_withdrawn(withdrawals, withdrawn), withdrawals

    def audit(self, packet_id: str) -> None:
        """Audit a packet, once per run."""
        ports = self._ports
        if not self._run.remember_audit(packet_id):
            return
        try:
            found = audit_packet(
                packet_id,
                packets=ports.packets,
                ledger=ports.ledger,
                clock=ports.clock,
                beat=ports.beat,
            )
        except PacketNotFound:
            return  # its shares and entries are reported
        except (InvariantViolated, SplitImpossible) as error:
            found = [Difference("I3", packet_id, "fates that can be read", "all", str(error))]
        for difference in found:
            self.tell(difference)

    def _compare_cache(self, rows: Iterable[Scanned]) -> None:
        """Compare the cache's owners of open packets with the ledger's."""
        owned: dict[str, dict[str, int]] = defaultdict(dict)
        for share in rows:
            if isinstance(share, Share) and share.taker:
                packet = self._ports.known.packet(share.packet_id)
                is_open = packet is not None and packet.status is PacketStatus.OPEN
                if packet and is_open and not packet.rules.prize_id:
                    owned[share.packet_id][share.taker.user_id] = share.share_no
        for packet_id, numbers in owned.items():
            unequal = self._held_otherwise(packet_id, numbers)
            if not unequal:
                continue
            # Read again: a row written after the cache's answer is not a difference.
            self._ports.clock.sleep_ms(BETWEEN_LOOKS_MS)
            packet = self._ports.known.fresh_packet(packet_id)
            if packet is None or packet.status is not PacketStatus.OPEN:
                continue
            for user_id, held in self._held_otherwise(packet_id, unequal).items():
                number = numbers[user_id]
                # Harmless, because the next grab repairs it, but a sign of lost data.
                what = f"number of share {number}"
                self.tell(Difference("cache", packet_id, what, number, held))

    def _held_otherwise(self, packet_id: str, numbers: dict[str, int]) -> dict[str, int]:
        if self._ports.cache_is_away:
            return {}
        try:
            held = self._ports.claim_cache.held_numbers(packet_id, numbers)
        except Unavailable as error:
            self._ports.journal.failure("cache_not_compared", error, packet_id=packet_id)
            self._ports.cache_is_away = isinstance(error, CacheAway)
            self._run.is_whole = False
            return {}
        if held is None:
            return {}
        return {
            user_id: held.get(user_id, 0)
            for user_id, number in numbers.items()
            if held.get(user_id) != number
        }


def _worth_fen(packet: Packet, share_no: int) -> int:
    try:
        return share_amount_fen(packet.terms, share_no)
    except (IndexError, InvariantViolated, SplitImpossible):
        return -1
