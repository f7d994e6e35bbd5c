"""Reader of a whole ledger, with the checks that need no time bound and no provider's book."""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypedDict

from local.seed_keys import PUBLISHED_SEEDS
from redpacket.campaigns.dynamodb import keys as campaign_keys
from redpacket.campaigns.model import WINDOW_AGE_MAX_MS
from redpacket.ledger.dynamodb import keys as ledger_keys
from redpacket.ledger.dynamodb.books import entry_of, receipt_of, sums_of
from redpacket.ledger.model import (
    Entry,
    Receipt,
    YearSums,
    has_book,
    outside_of,
    packet_account,
    packet_of,
    payment_account,
    withdrawal_account,
)
from redpacket.lottery.dynamodb import keys as draw_keys
from redpacket.lottery.dynamodb.campaign_snapshot import snapshot_of
from redpacket.lottery.dynamodb.items import draw_of
from redpacket.lottery.model.lottery import Draw, PrizeKind
from redpacket.operations.dynamodb.audit_log import logged_of
from redpacket.operations.model.operators import Action
from redpacket.packets.dynamodb import items, keys
from redpacket.packets.model.claim import Claimer, Share, ShareStatus
from redpacket.packets.model.packet import Packet, PacketStatus
from redpacket.packets.model.seed_keys import SeedKeys
from redpacket.payments.dynamodb import keys as payment_keys
from redpacket.payments.dynamodb.items import (
    line_of,
    payment_of,
    refund_of,
    return_of,
    withdrawal_of,
)
from redpacket.payments.model.provider import StatementKind
from redpacket.payments.model.withdrawals import RETURNED, withdrawal_of_transfer
from redpacket.platform.bounds import AT_MS_MAX
from redpacket.platform.difference import Difference
from redpacket.platform.dynamodb.client import from_wire
from redpacket.reconciliation.checks.lottery import check_outcomes
from redpacket.reconciliation.checks.packets import (
    PacketFacts,
    check_once_per_user,
    check_shares,
    check_takers,
)
from redpacket.reconciliation.checks.postings import check_bounds, check_receipts
from testing.payments.outside_checks import (
    BookedLine,
    asked_lines,
    check_asked,
    check_lines,
    check_withdrawn,
)
from testing.reconciliation.checks import (
    LotteryFacts,
    OutsideFacts,
    PlayerDay,
    Told,
    Unit,
    Window,
    check_causes,
    check_claim_counts,
    check_conservation,
    check_entries,
    check_known_packets,
    check_lottery,
    check_marks,
    check_once,
    check_open_counts,
    check_outside_postings,
    check_own_ends,
    check_packet_exists,
    check_packet_total,
    check_payments,
    check_postings,
    check_told,
    check_told_draws,
    check_unpaid_counts,
    check_windows,
    check_year_sums,
    packet_held_fen,
)

NOTHING_OUTSIDE = OutsideFacts([], [], [], [], {})


@dataclass(frozen=True, slots=True)
class LedgerState:
    """Snapshot of the whole ledger while no work is in progress."""

    balances_fen: dict[str, int]
    open_counts: dict[str, int]
    unpaid_counts: dict[str, int]
    year_sums: dict[str, YearSums]
    entries: list[Entry]
    receipts: list[Receipt]
    packets: list[PacketFacts]
    shares: list[Share]
    claimers: list[Claimer]
    claim_counts: dict[tuple[str, str], int]
    lotteries: list[LotteryFacts]
    marked: frozenset[str] = frozenset()
    windows: dict[str, list[Window]] = field(default_factory=dict)
    outside: OutsideFacts = NOTHING_OUTSIDE
    actions: list[Action] | None = None
    """Operators' actions; None if the reader skipped the audit log."""
    window_slack_ms: int = WINDOW_AGE_MAX_MS

    def differences(
        self,
        told: Iterable[Told] = (),
        told_draws: Iterable[Draw] = (),
        seen: Counter[str] | None = None,
    ) -> list[Difference]:
        """Return the violations; *told* and *told_draws* are the responses to users. *seen* counts
        the items that each check examined, because a check without items proves nothing.
        """
        told, told_draws = list(told), list(told_draws)
        seen = Counter() if seen is None else seen
        all_differences: list[Difference] = []
        for name, looked_at, differences in self.checked(told, told_draws):
            seen[name] += looked_at
            all_differences += differences
        return all_differences

    def checked(
        self, told: list[Told], told_draws: list[Draw]
    ) -> Iterator[tuple[str, int, list[Difference]]]:
        """Yield each check's name, the number of its items, and its differences."""
        packet_ids = {facts.packet.packet_id for facts in self.packets}
        balances_fen, entries = self.balances_fen, self.entries
        held_fen = sum(map(packet_held_fen, self.packets)) + self.outside.held_fen
        in_packets = [entry for entry in entries if packet_of(entry.counterparty)]
        claims = [share for share in self.shares if share.status is ShareStatus.CLAIMED]
        yield "check_conservation", len(balances_fen), check_conservation(balances_fen, held_fen)
        packets = [facts.packet for facts in self.packets]
        yield "check_entries", len(entries), check_entries(balances_fen, entries)
        if self.actions is not None:
            moved = [entry for entry in entries if has_book(entry.counterparty)]
            yield "check_causes", len(moved), check_causes(entries, self.actions)
            unsound = check_marks(self.marked, self.actions, entries, packets)
            yield "check_marks", len(self.marked), unsound
        yield "check_once", len(entries), check_once(entries)
        yield "check_bounds", len(entries), check_bounds(balances_fen, entries)
        strays = check_packet_exists(self.shares, packet_ids)
        yield "check_packet_exists", len(self.shares), strays
        yield "check_known_packets", len(in_packets), check_known_packets(entries, packet_ids)
        year_sums = check_year_sums(self.year_sums, entries, self.packets)
        yield "check_year_sums", sum(map(any_sum, self.year_sums.values())), year_sums
        claimers = check_takers(self.shares, self.claimers)
        yield "check_takers", min(len(claims), len(self.claimers)), claimers
        counts = check_claim_counts(self.packets, self.claim_counts)
        yield "check_claim_counts", sum(self.claim_counts.values()), counts
        opened = check_open_counts(packets, self.open_counts)
        yield "check_open_counts", len(packets), opened
        unpaid = check_unpaid_counts(packets, self.unpaid_counts)
        yield "check_unpaid_counts", len(self.unpaid_counts), unpaid
        yield from self._checked_packets(told)
        yield from self._checked_outside()
        for facts in self.lotteries:
            of_cash = [
                draw for draw in facts.draws if draw.prize and draw.prize.kind is PrizeKind.PACKET
            ]
            seen = min(len(facts.draws), len(facts.units), len(facts.players), len(of_cash))
            yield "check_lottery", seen, check_lottery(facts)
            yield "check_outcomes", len(facts.draws), check_outcomes(facts.draws)
        draws = [draw for facts in self.lotteries for draw in facts.draws]
        looked_at = min(len(draws), len(told_draws))
        yield "check_told_draws", looked_at, check_told_draws(draws, told_draws)

    def _checked_outside(self) -> Iterator[tuple[str, int, list[Difference]]]:
        facts = self.outside
        posted = [entry for entry in self.entries if outside_of(entry.counterparty)]
        yield "check_outside_postings", len(posted), check_outside_postings(facts, posted)
        yield "check_payments", len(facts.payments), check_payments(facts)
        withdrawn = check_withdrawn(facts.withdrawals, facts.withdrawn)
        yield "check_withdrawn", len(facts.withdrawn), withdrawn
        channels = {payment.number: payment.channel for payment in facts.payments}
        lines = [line for row in facts.rows for line in asked_lines(row, channels)]
        yield "check_lines", len(lines), check_lines(lines, facts.lines)
        returned = sum(row.status in RETURNED for row in facts.withdrawals)
        yield "check_asked", returned, check_asked(facts.withdrawals)

    def _checked_packets(self, told: list[Told]) -> Iterator[tuple[str, int, list[Difference]]]:
        books: dict[str, list[Entry]] = defaultdict(list)
        for entry in self.entries:
            books[entry.counterparty].append(entry)
        receipts: dict[str, list[Receipt]] = defaultdict(list)
        for receipt in self.receipts:
            receipts[receipt.packet_id].append(receipt)
        for facts in self.packets:
            packet_id = facts.packet.packet_id
            book, left = books[packet_account(packet_id)], receipts[packet_id]
            answers = [answer for answer in told if answer.packet_id == packet_id]
            is_closed = facts.packet.status is PacketStatus.CLOSED
            claim_count = sum(share.status is ShareStatus.CLAIMED for share in facts.shares)
            yield "check_packet_total", is_closed, check_packet_total(facts)
            yield "check_shares", len(facts.shares), check_shares(facts)
            yield "check_once_per_user", claim_count, check_once_per_user(facts)
            yield "check_told", len(answers), check_told(facts, answers)
            yield "check_postings", len(book), check_postings(facts, book)
            yield "check_receipts", len(left), check_receipts(facts, left)
            windows = self.windows_of(facts.packet)
            outside = check_windows(facts, windows, self.window_slack_ms)
            yield "check_windows", claim_count if windows else 0, outside
            has_own_end = facts.packet.rules.ends_at_ms != AT_MS_MAX
            late = check_own_ends(facts, self.window_slack_ms)
            yield "check_own_ends", claim_count if has_own_end else 0, late

    def windows_of(self, packet: Packet) -> list[Window]:
        """Return the campaign windows that apply to a packet; none if it funds a prize."""
        campaign_id = packet.rules.campaign_id
        return [] if packet.rules.prize_id else self.windows.get(campaign_id or "", [])


def any_sum(sums: YearSums) -> bool:
    """Return whether any of a user's yearly sums is not zero."""
    return sums != YearSums()


def lasting(read: Callable[[], list[Difference]]) -> list[Difference]:
    """Return the differences that both of two reads find; sweeps may move money during a scan."""
    first = read()
    if first:
        time.sleep(2)
    return [difference for difference in read() if difference in first] if first else []


def read_ledger_state(
    dynamodb: Any,
    accounts_table: str,
    packets_table: str,
    shares_table: str,
    campaigns_table: str | None = None,
    draws_table: str | None = None,
    quotas_table: str | None = None,
    payments_table: str | None = None,
    journal_table: str | None = None,
    *,
    seeds: SeedKeys = PUBLISHED_SEEDS,
) -> LedgerState:
    """Scan the tables with boto3's DynamoDB client or its fake. A table that is not given adds
    nothing to the state; without *journal_table*, the actions are None.
    """
    accounts = _accounts(scan_rows(dynamodb, accounts_table))
    share_rows = list(scan_rows(dynamodb, shares_table))
    shares = [items.share_of(row) for row in share_rows if row["sk"].startswith(keys.SHARE_PREFIX)]
    claimers = [
        items.claimer_of(row) for row in share_rows if row["sk"].startswith(keys.CLAIMER_PREFIX)
    ]
    packets = _packets(scan_rows(dynamodb, packets_table), shares, seeds)
    claim_counts = _claim_counts(scan_rows(dynamodb, quotas_table) if quotas_table else ())
    lottery_tables = [table for table in (campaigns_table, draws_table) if table]
    lottery_rows = [row for table in lottery_tables for row in scan_rows(dynamodb, table)]
    return LedgerState(
        **accounts,
        packets=packets,
        shares=shares,
        claimers=claimers,
        claim_counts=claim_counts,
        lotteries=_lotteries(lottery_rows, shares),
        windows=_windows(lottery_rows),
        outside=_outside(scan_rows(dynamodb, payments_table) if payments_table else ()),
        actions=[
            logged_of(row).action
            for row in scan_rows(dynamodb, journal_table)
            if row.get("is_cause")
        ]
        if journal_table
        else None,
    )


class _Accounts(TypedDict):
    balances_fen: dict[str, int]
    open_counts: dict[str, int]
    unpaid_counts: dict[str, int]
    year_sums: dict[str, YearSums]
    entries: list[Entry]
    receipts: list[Receipt]
    marked: frozenset[str]


def _accounts(rows: Iterable[dict[str, Any]]) -> _Accounts:
    accounts = _Accounts(
        balances_fen={},
        open_counts={},
        unpaid_counts={},
        year_sums={},
        entries=[],
        receipts=[],
        marked=frozenset(),
    )
    for row in rows:
        account, sk = row["pk"], row["sk"]
        if sk == ledger_keys.BALANCE:
            accounts["balances_fen"][account] = row.get("balance_fen", 0)
            accounts["year_sums"][account] = sums_of(row, None)
            accounts["open_counts"][account] = row.get("open_count", 0)
            accounts["unpaid_counts"][account] = row.get("unpaid_count", 0)
            if row.get("is_for_campaigns"):
                accounts["marked"] |= {account}
        elif sk == ledger_keys.RECEIPT:
            accounts["receipts"].append(receipt_of(row))
        elif sk.startswith((ledger_keys.ENTRY_PREFIX, ledger_keys.CLAIM_PREFIX)):
            accounts["entries"].append(entry_of(row))
    return accounts


def _packets(
    rows: Iterable[dict[str, Any]], shares: Iterable[Share], seeds: SeedKeys
) -> list[PacketFacts]:
    by_packet: dict[str, list[Share]] = defaultdict(list)
    for share in shares:
        by_packet[share.packet_id].append(share)
    return [
        PacketFacts(items.packet_of(row, seeds), by_packet[row["packet_id"]])
        for row in rows
        if row["sk"] == keys.PACKET
    ]


def _claim_counts(rows: Iterable[dict[str, Any]]) -> dict[tuple[str, str], int]:
    counts = {}
    for row in rows:
        if "claim_count" in row:  # Rows for thanks have no count.
            campaign_id, user_id = row["pk"].split("#", 1)
            counts[campaign_id, user_id] = row["claim_count"]
    return counts


def _outside(rows: Iterable[dict[str, Any]]) -> OutsideFacts:
    facts = OutsideFacts([], [], [], [], {})
    for row in rows:
        sk = row["sk"]
        if sk == payment_keys.PAYMENT:
            facts.payments.append(payment_of(row))
        elif sk == payment_keys.WITHDRAWAL:
            facts.withdrawals.append(withdrawal_of(row))
        elif sk.startswith(payment_keys.RETURN_PREFIX):
            facts.returns.append(return_of(row))
        elif sk.startswith(payment_keys.REFUND_PREFIX):
            facts.refunds.append(refund_of(row))
        elif row["pk"].startswith(payment_keys.OUTSIDE_PREFIX):
            facts.lines.append(booked_line_of(row))
        elif sk.startswith(payment_keys.WITHDRAWN_PREFIX):
            user_id, day = row["pk"].removeprefix(keys.USER_PREFIX), sk.partition("#")[2]
            facts.withdrawn[user_id, day] = row["withdrawn_count"], row["withdrawn_fen"]
    return facts


def _windows(rows: Iterable[dict[str, Any]]) -> dict[str, list[Window]]:
    windows: dict[str, list[Window]] = defaultdict(list)
    for row in rows:
        if row["sk"].startswith(campaign_keys.WINDOW_PREFIX):
            version = int(row["sk"].removeprefix(campaign_keys.WINDOW_PREFIX))
            window = Window(version, row["starts_at_ms"], row["ends_at_ms"], row["set_at_ms"])
            windows[row["pk"].partition("#")[2]].append(window)
    return windows


def _lotteries(rows: list[dict[str, Any]], shares: list[Share]) -> list[LotteryFacts]:
    lotteries: dict[str, LotteryFacts] = {}

    def of(campaign_id: str) -> LotteryFacts:
        return lotteries.setdefault(campaign_id, LotteryFacts(campaign_id, [], [], [], [], shares))

    for row in rows:
        pk, sk = row["pk"], row["sk"]
        _, _, where = pk.partition("#")
        if pk.startswith("campaign#") and sk == campaign_keys.SHOWN:
            prizes = snapshot_of(row).prizes
            if prizes:
                of(where).prizes.extend(prizes)
        elif pk.startswith(draw_keys.UNITS_PREFIX):
            campaign_id, prize_id = where.split("#")
            day, number = "", sk.rpartition("#")[2]
            if sk.startswith("day#"):
                _, day, number = sk.split("#")
            of(campaign_id).units.append(Unit(prize_id, int(number), row["draw_id"], day))
        elif pk.startswith(draw_keys.DRAWER_PREFIX):
            campaign_id, user_id = where.split("#", 1)
            if sk.startswith(draw_keys.DRAW_PREFIX):
                of(campaign_id).draws.append(draw_of(row))
            elif sk.startswith(draw_keys.PLAYER_PREFIX):
                of(campaign_id).players.append(_player_day(user_id, row))
    return list(lotteries.values())


def _player_day(user_id: str, row: dict[str, Any]) -> PlayerDay:
    return PlayerDay(
        user_id=user_id,
        day=row["sk"].removeprefix(draw_keys.PLAYER_PREFIX),
        attempt_count=row["attempt_count"],
        win_count=row["win_count"],
        help_count=row.get("help_count", 0),
        attempts_max=row.get("attempts_max", 0),
        wins_max=row.get("wins_max", 0),
    )


def scan_rows(dynamodb: Any, table: str) -> Iterator[dict[str, Any]]:
    request: dict[str, Any] = {"TableName": table, "ConsistentRead": True}
    while True:
        page = dynamodb.scan(**request)
        yield from (from_wire(item) for item in page["Items"])
        if "LastEvaluatedKey" not in page:
            return
        request["ExclusiveStartKey"] = page["LastEvaluatedKey"]


def booked_line_of(row: dict[str, Any]) -> BookedLine:
    """Parse a stored statement line for `check_lines`."""
    line, account = line_of(row), payment_account(row.get("of_number", ""))
    if line.kind is StatementKind.TRANSFER:
        account = withdrawal_account(withdrawal_of_transfer(line.number))
    elif line.kind is StatementKind.PAYMENT:
        account = payment_account(line.number)
    outside_no = "" if line.kind is StatementKind.REFUND else line.outside_no
    channel, noted_at_ms = row["pk"].split("#")[1], row["noted_at_ms"]
    return BookedLine(
        channel, account, line.kind, line.number, outside_no, line.amount_fen, noted_at_ms
    )
