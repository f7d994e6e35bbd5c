"""Checks of a whole ledger at rest, which only tests can load, and the list of all checks.

The nightly reconciliation checks most of these facts in SQL (`reconciliation/use_cases/sql/`).
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Container, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TypeAlias

from redpacket.campaigns.model import WINDOW_AGE_MAX_MS
from redpacket.ledger.model import (
    DEPOSITS,
    Entry,
    Transfer,
    TransferKind,
    YearSums,
    entries,
    has_book,
    outside_of,
    packet_account,
    packet_of,
    payment_account,
    receivable_account,
    user_account,
    withdrawal_account,
)
from redpacket.lottery.model.lottery import (
    Draw,
    Prize,
    PrizeKind,
    unit_share,
)
from redpacket.operations.model.operators import Action, ActionKind
from redpacket.packets.model.claim import Share, ShareRef
from redpacket.packets.model.packet import Packet, PacketStatus
from redpacket.payments.model.payments import (
    Payment,
    PaymentRefund,
    PaymentReturn,
    PaymentStatus,
    ReturnStatus,
    credit_transfer,
    refund_transfers,
)
from redpacket.payments.model.provider import StatementKind, StatementLine
from redpacket.payments.model.withdrawals import (
    RETURNED,
    Withdrawal,
    WithdrawalStatus,
    hold_transfer,
    return_transfer,
)
from redpacket.platform.difference import Difference
from redpacket.reconciliation.checks.lottery import check_unit
from redpacket.reconciliation.checks.packets import (
    PacketFacts,
    Tally,
    check_late_claims,
    check_late_close,
    check_tally,
)
from redpacket.reconciliation.checks.postings import (
    check_posted,
    sent_entries,
    settled_entries,
)
from redpacket.reconciliation.checks.postings import refund_entries as packet_refunds
from testing.payments.outside_checks import BookedLine, OutsideRow, held_fen

CHECKS = {
    "check_conservation": "I1",
    "check_entries": "I1",
    "check_postings": "I1",
    "check_posted": "I1",
    "check_known_packets": "I1",
    "check_year_sums": "I1",
    "check_outside_postings": "I1",
    "check_payments": "I1",
    "check_causes": "I1",
    "check_marks": "I1",
    "check_packet_total": "I2",
    "check_tally": "I2",
    "check_receipts": "I2",
    "check_shares": "I3",
    "check_packet_exists": "I3",
    "check_once_per_user": "I4",
    "check_takers": "I4",
    "check_told": "I5",
    "check_told_draws": "I5",
    "check_outcomes": "I5",
    "check_outside": "I6",
    "check_lines": "I6",
    "check_asked": "I6",
    "check_bounds": "I7",
    "check_settled_in_time": "I8",
    "check_late_claims": "I8",
    "check_late_close": "I8",
    "check_outside_in_time": "I8",
    "check_late_end": "I8",
    "check_claim_counts": "I9",
    "check_lottery": "I9",
    "check_unit": "I9",
    "check_player": "I9",
    "check_open_counts": "I9",
    "check_unpaid_counts": "I9",
    "check_withdrawn": "I9",
    "check_once": "I-once",
    "check_windows": "I-window",
    "check_moved_ends": "I-window",
    "check_own_ends": "I-window",
}
"""Invariants in docs/invariants.md, keyed by the check that verifies them."""


@dataclass(frozen=True, slots=True)
class PlayerDay:
    """A user's counts for one day, and the limits at the last draw."""

    user_id: str
    day: str
    attempt_count: int
    win_count: int
    help_count: int
    attempts_max: int
    wins_max: int

    @property
    def draw_count(self) -> int:
        """Return the number of the user's draws. Each help has lowered `attempt_count` by one."""
        return self.attempt_count + self.help_count

    @property
    def numbers_sum(self) -> int:
        """Return the sum that the user's draw numbers (1, 2, ... without a gap) must have."""
        return self.draw_count * (self.draw_count + 1) // 2


@dataclass(frozen=True, slots=True)
class Window:
    """Campaign window that applied from one edit until the next."""

    version: int
    starts_at_ms: int
    ends_at_ms: int
    set_at_ms: int


@dataclass(frozen=True, slots=True)
class Told:
    """Response to a user: the share and its amount."""

    packet_id: str
    user_id: str
    share_no: int
    amount_fen: int


@dataclass(frozen=True, slots=True)
class Unit:
    """Won unit of a prize, counted in the total stock or, with *day*, in that day's stock."""

    prize_id: str
    number: int
    draw_id: str
    day: str = ""


@dataclass(frozen=True, slots=True)
class LotteryFacts:
    """All ledger facts about one campaign's draws; *shares* include those of cash prizes."""

    campaign_id: str
    prizes: list[Prize]
    draws: list[Draw]
    units: list[Unit]
    players: list[PlayerDay]
    shares: list[Share]


@dataclass(frozen=True, slots=True)
class OutsideFacts:
    """All rows about payments and withdrawals; *withdrawn* is keyed by user and day."""

    payments: list[Payment]
    returns: list[PaymentReturn]
    refunds: list[PaymentRefund]
    withdrawals: list[Withdrawal]
    withdrawn: dict[tuple[str, str], tuple[int, int]]
    lines: list[BookedLine] = field(default_factory=list)

    @property
    def rows(self) -> list[OutsideRow]:
        """Return all rows to which statement lines refer."""
        return [*self.payments, *self.returns, *self.refunds, *self.withdrawals]

    @property
    def held_fen(self) -> int:
        """Return the fen that left accounts for providers, minus the fen that came in."""
        brought_in_fen = sum(
            payment.amount_fen - payment.reversed_fen
            for payment in self.payments
            if payment.credited_at_ms is not None
        )
        return sum(map(held_fen, self.withdrawals)) - brought_in_fen


def packet_held_fen(facts: PacketFacts) -> int:
    """Return the fen that a packet still holds: its funding minus settled and refunded shares."""
    tally = Tally().add(facts.shares)
    return facts.packet.funded_fen - tally.settled_fen - tally.refunded_fen


def check_conservation(balances_fen: Mapping[str, int], held_fen: int) -> list[Difference]:
    """I1: all other accounts + *held_fen* (packets, payments, and withdrawals) = deposits."""
    held = held_fen + sum(fen for account, fen in balances_fen.items() if account != DEPOSITS)
    deposited = -balances_fen.get(DEPOSITS, 0)
    if held == deposited:
        return []
    return [Difference("I1", "all accounts", "wallets + packets vs deposits", deposited, held)]


def check_once(ledger_entries: Iterable[Entry]) -> list[Difference]:
    """I-once: an account has one entry per transfer."""
    times = Counter((entry.account, entry.transfer_id) for entry in ledger_entries)
    return [
        Difference("I-once", f"{account} {transfer_id}", "entries", 1, count)
        for (account, transfer_id), count in times.items()
        if count > 1
    ]


def check_causes(ledger_entries: Iterable[Entry], actions: Iterable[Action]) -> list[Difference]:
    """I1: each operator action that moves money has the entries of its transfer, and vice versa.

    A debt payment has no action, because a user makes the payment. `check_postings` and
    `check_outside_postings` compare entries with packets, payments, and withdrawals.
    """
    moved = [transfer for action in actions if (transfer := _moved_by(action))]
    wanted = Counter(entry for transfer in moved for entry in entries(transfer))
    posted = Counter(
        entry
        for entry in ledger_entries
        if has_book(entry.counterparty) and not _is_collected(entry)
    )
    return [
        Difference("I1", entry.account, f"entry {entry.transfer_id}", count, posted[entry])
        for entry in wanted | posted
        if (count := wanted[entry]) != posted[entry]
    ]


def _moved_by(action: Action) -> Transfer | None:
    facts = {change.field: change.after or "" for change in action.changes}
    if action.kind is ActionKind.DEPOSIT:
        kind, debit, credit = TransferKind.DEPOSIT, DEPOSITS, action.subject
    elif action.kind is ActionKind.CAMPAIGN_MONEY_MOVED:
        kind, debit, credit = TransferKind.CAMPAIGN_MONEY, action.subject, user_account(facts["to"])
    else:
        return None
    amount_fen = int(facts["amount_fen"])
    return Transfer(facts["transfer_id"], kind, debit, credit, amount_fen, action.at_ms)


def _is_collected(entry: Entry) -> bool:
    user, debt = sorted((entry.account, entry.counterparty), reverse=True)
    is_paid = (entry.amount_fen < 0) is (entry.account == user)
    is_own = debt == receivable_account(user.removeprefix(user_account("")))
    return entry.kind is TransferKind.PAYMENT_REFUNDED and is_own and is_paid


def check_marks(
    marked: Collection[str],
    actions: Collection[Action],
    ledger_entries: Iterable[Entry],
    packets: Iterable[Packet],
) -> list[Difference]:
    """I1: an account has the campaign mark if and only if operators set it and did not remove it.

    Marked accounts pay only for campaigns, and receive no payments. The nightly run allows
    payments, because earlier releases accepted them.
    """
    removed = {
        action.subject: action.at_ms
        for action in actions
        if action.kind is ActionKind.CAMPAIGN_MARK_REMOVED
    }
    ever = {
        action.subject
        for action in actions
        if action.kind is ActionKind.DEPOSIT
        and any(change.field == "is_for_campaigns" for change in action.changes)
    }
    private = {packet.packet_id for packet in packets if not packet.rules.campaign_id}
    return [
        Difference("I1", account, "marks of campaign money", int(not is_marked), int(is_marked))
        for account in sorted((ever - removed.keys()) ^ set(marked))
        for is_marked in [account in marked]
    ] + [
        Difference(
            "I1", entry.account, f"campaign money for {entry.transfer_id}", 0, entry.amount_fen
        )
        for entry in ledger_entries
        if entry.account in ever
        and entry.at_ms < removed.get(entry.account, entry.at_ms + 1)
        and (
            entry.kind in {TransferKind.WITHDRAWAL, TransferKind.PAYMENT}
            or (entry.kind is TransferKind.SEND and packet_of(entry.counterparty) in private)
        )
    ]


def check_entries(
    balances_fen: Mapping[str, int], ledger_entries: Iterable[Entry]
) -> list[Difference]:
    """I1: every balance is the sum of its entries, and transfers sum to zero.

    `check_postings` compares entries with packets, and `check_outside_postings` with payments and
    withdrawals.
    """
    by_account: dict[str, int] = defaultdict(int)
    by_transfer: dict[str, int] = defaultdict(int)
    for entry in ledger_entries:
        by_account[entry.account] += entry.amount_fen
        if not has_book(entry.counterparty):
            continue
        by_transfer[entry.transfer_id] += entry.amount_fen
    unbalanced = [
        Difference("I1", transfer_id, "entries of a transfer", 0, total)
        for transfer_id, total in by_transfer.items()
        if total
    ]
    drifted = [
        Difference("I1", account, "balance vs entries", by_account[account], balance)
        for account in by_account.keys() | balances_fen.keys()
        if (balance := balances_fen.get(account, 0)) != by_account[account]
    ]
    return unbalanced + drifted


def compare_history(before: Iterable[Entry], now: Iterable[Entry]) -> list[Difference]:
    """Report entries that changed since the last run. Booked entries never change."""
    lost = Counter(before) - Counter(now)
    return [
        Difference("history", entry.account, "entry that was booked", str(entry), "none")
        for entry in lost
    ]


def expected_entries(facts: PacketFacts) -> list[Entry]:
    """Return the entries that a packet's row and share outcomes imply."""
    return [
        *sent_entries(facts.packet),
        *settled_entries(facts.shares),
        *packet_refunds(facts.packet, Tally().add(facts.shares)),
    ]


def check_postings(facts: PacketFacts, posted: Iterable[Entry]) -> list[Difference]:
    """I1: *posted*, all entries whose other side is the packet, equals the expected entries."""
    return check_posted(facts.packet.packet_id, expected_entries(facts), posted)


def check_known_packets(entries: Iterable[Entry], packet_ids: Iterable[str]) -> list[Difference]:
    """I1: each entry whose other side is a packet names an existing packet."""
    accounts = {packet_account(packet_id) for packet_id in packet_ids}
    return [
        Difference(
            "I1", entry.counterparty, "entry of a packet that does not exist", 0, entry.amount_fen
        )
        for entry in entries
        if entry.counterparty.startswith(packet_account("")) and entry.counterparty not in accounts
    ]


def check_year_sums(
    sums: Mapping[str, YearSums], entries: Iterable[Entry], packets: Iterable[PacketFacts]
) -> list[Difference]:
    """I1: the yearly sums stored with a balance equal the sums of its entries."""
    wanted: dict[str, Counter[str]] = defaultdict(Counter)
    for entry in entries:
        if entry.kind is TransferKind.SEND:
            wanted[entry.account].update(sent_fen=-entry.amount_fen, sent_count=1)
        elif entry.kind is TransferKind.SETTLE:
            wanted[entry.account].update(received_fen=entry.amount_fen, received_count=1)
    for facts in packets:
        end = facts.packet.end
        if end and end.luckiest and facts.packet.has_luckiest:
            wanted[user_account(end.luckiest.user_id)].update(luckiest_count=1)
    return [
        Difference("I1", account, "sums of the years", str(expected), str(kept))
        for account in sorted(wanted.keys() | sums.keys())
        for expected in [YearSums(**wanted[account])]
        if (kept := sums.get(account, YearSums())) != expected
    ]


def expected_outside(
    payments: Iterable[Payment], refunds: Iterable[PaymentRefund], withdrawals: Iterable[Withdrawal]
) -> list[Entry]:
    """Return the entries that payments, refunds, and withdrawals imply."""
    moved = [
        credit_transfer(payment, at_ms) for payment in payments if (at_ms := payment.credited_at_ms)
    ]
    moved += [transfer for refund in refunds for transfer in refund_transfers(refund)]
    for withdrawal in withdrawals:
        moved.append(hold_transfer(withdrawal))
        if withdrawal.status in RETURNED and withdrawal.ended_at_ms is not None:
            moved.append(return_transfer(withdrawal, withdrawal.ended_at_ms))
    return [entry for transfer in moved for entry in entries(transfer)]


def check_outside_postings(facts: OutsideFacts, posted: Iterable[Entry]) -> list[Difference]:
    """I1: payments and withdrawals have the entries that their rows imply, and no others."""
    wanted = Counter(expected_outside(facts.payments, facts.refunds, facts.withdrawals))
    counts = Counter(entry for entry in posted if outside_of(entry.counterparty))
    return [
        Difference("I1", entry.counterparty, f"entry {entry.transfer_id}", count, counts[entry])
        for entry in wanted | counts
        if (count := wanted[entry]) != counts[entry]
    ]


def check_payments(facts: OutsideFacts) -> list[Difference]:
    """I1: payment rows store the sums of their refunds and returns; ended rows have an end time."""
    reversed_fen: dict[str, int] = defaultdict(int)
    returned_fen: dict[str, int] = defaultdict(int)
    for refund in facts.refunds:
        reversed_fen[refund.number] += refund.reversed_fen
        returned_fen[refund.number] += refund.returned_fen
    for payment_return in facts.returns:
        if payment_return.status is ReturnStatus.DONE:
            returned_fen[payment_return.number] += payment_return.amount_fen
    differences = []
    for payment in facts.payments:
        number, is_credited = payment.number, payment.credited_at_ms is not None
        pairs = (
            ("reversed vs refunds", reversed_fen[number], payment.reversed_fen),
            ("returned vs transactions", returned_fen[number], payment.returned_fen),
            ("credited with a transaction", bool(payment.transaction_id), is_credited),
            ("paid with its time", payment.status is PaymentStatus.PAID, is_credited),
        )
        differences += [
            Difference("I1", payment_account(number), *pair) for pair in pairs if pair[1] != pair[2]
        ]
        if payment.reversed_fen > (payment.amount_fen if is_credited else 0):
            what = "reversed at most"
            differences.append(
                Difference("I1", number, what, payment.amount_fen, payment.reversed_fen)
            )
    ends = [
        *(
            (
                payment_account(row.number),
                "given back",
                row.status is ReturnStatus.DONE,
                row.done_at_ms,
            )
            for row in facts.returns
        ),
        *(
            (withdrawal_account(row.withdrawal_id), "ended", row.is_final, row.ended_at_ms)
            for row in facts.withdrawals
        ),
    ]
    differences += [
        Difference("I1", account, f"{what} with its time", is_over, at_ms is not None)
        for account, what, is_over, at_ms in ends
        if is_over != (at_ms is not None)
    ]
    credited = {payment.transaction_id for payment in facts.payments}
    both = Counter(row.number for row in facts.returns if row.transaction_id in credited)
    differences += [
        Difference("I1", payment_account(number), "returned although credited", 0, count)
        for number, count in both.items()
    ]
    return differences


def check_packet_total(facts: PacketFacts) -> list[Difference]:
    """I2: settled plus refunded fen never exceed the total, and equal it in a closed packet."""
    return check_tally(facts.packet, Tally().add(facts.shares))


def check_told(facts: PacketFacts, told: Iterable[Told]) -> list[Difference]:
    """I5: every response to a user contains the stored share number and amount."""
    owned = {
        share.claimer.user_id: (share.share_no, share.amount_fen)
        for share in facts.shares
        if share.claimer
    }
    return [
        Difference(
            "I5",
            facts.packet.packet_id,
            f"told to {answer.user_id}",
            str(owned.get(answer.user_id)),
            str((answer.share_no, answer.amount_fen)),
        )
        for answer in told
        if answer.packet_id == facts.packet.packet_id
        and owned.get(answer.user_id) != (answer.share_no, answer.amount_fen)
    ]


def check_packet_exists(shares: Iterable[Share], packet_ids: Container[str]) -> list[Difference]:
    """I3: every share with an outcome belongs to an existing packet."""
    return [
        Difference(
            "I3",
            share.packet_id,
            f"share {share.share_no} of a packet that does not exist",
            0,
            share.amount_fen,
        )
        for share in shares
        if share.packet_id not in packet_ids
    ]


def check_unpaid_counts(packets: Iterable[Packet], counts: Mapping[str, int]) -> list[Difference]:
    """I9: each account's count of unpaid packets is correct."""
    unpaid = Counter(
        user_account(packet.sender.user_id)
        for packet in packets
        if packet.counts_as_open and packet.status is PacketStatus.UNPAID
    )
    return [
        Difference("I9", account, "unpaid packets counted", unpaid[account], counted)
        for account in sorted({*unpaid, *counts})
        if (counted := counts.get(account, 0)) != unpaid[account]
    ]


def check_player(campaign_id: str, player: PlayerDay) -> list[Difference]:
    """I9: a user's counts for one day are within the limits at the last draw."""
    subject = f"{campaign_id} {player.user_id} {player.day}"
    limits = (
        ("attempts within", player.attempts_max, player.attempt_count),
        ("wins within", player.wins_max, player.win_count),
    )
    return [Difference("I9", subject, *pair) for pair in limits if pair[1] < pair[2]]


def check_settled_in_time(facts: PacketFacts, now_ms: int, bound_ms: int) -> list[Difference]:
    """I8: within *bound_ms*, claims are settled and due packets are closed (once faults stop)."""
    late = check_late_claims(facts.shares, now_ms, bound_ms)
    return late + check_late_close(facts.packet, now_ms, bound_ms)


def check_claim_counts(
    packets: Iterable[PacketFacts], counts: Mapping[tuple[str, str], int]
) -> list[Difference]:
    """I9: quota counts equal the claims of each campaign and user, not counting prizes' packets."""
    claimed = Counter(
        (facts.packet.rules.campaign_id, share.claimer.user_id)
        for facts in packets
        for share in facts.shares
        # Packets of prizes do not count against the quota.
        if facts.packet.rules.campaign_id and not facts.packet.rules.prize_id and share.claimer
    )
    return [
        Difference("I9", f"{campaign_id} {user_id}", "claims counted", claimed[key], counted)
        for key in sorted({*claimed, *counts})
        for campaign_id, user_id in [key]
        if (counted := counts.get((campaign_id or "", user_id), 0)) != claimed[key]
    ]


def check_open_counts(packets: Iterable[Packet], counts: Mapping[str, int]) -> list[Difference]:
    """I9: each account's count of open packets outside campaigns is correct."""
    ended = {PacketStatus.CLOSED, PacketStatus.CANCELLED}
    opened = Counter(
        user_account(packet.sender.user_id)
        for packet in packets
        if packet.counts_as_open and packet.status not in ended
    )
    return [
        Difference("I9", account, "open packets counted", opened[account], counted)
        for account in sorted({*opened, *counts})
        if (counted := counts.get(account, 0)) != opened[account]
    ]


def check_windows(
    facts: PacketFacts, windows: Iterable[Window], slack_ms: int = WINDOW_AGE_MAX_MS
) -> list[Difference]:
    """I-window: each claim is within the campaign window that applied then, give or take 10 s."""
    ordered = sorted(windows, key=lambda window: window.version)
    if not ordered:
        return []
    known_from_ms = min(window.set_at_ms for window in ordered) + slack_ms
    return [
        Difference(
            "I-window",
            facts.packet.packet_id,
            f"share {share.share_no} claimed at {share.decided_at_ms}",
            "in the window",
            "outside",
        )
        for share in facts.shares
        if share.claimer
        and share.decided_at_ms > known_from_ms
        and not any(
            _has_window(share.decided_at_ms, window, following, slack_ms)
            for window, following in zip_longest(ordered, ordered[1:])
        )
    ]


def _has_window(at_ms: int, window: Window, following: Window | None, slack_ms: int) -> bool:
    first_ms, last_ms = at_ms - slack_ms, at_ms + slack_ms
    was_set = window.set_at_ms <= last_ms and (not following or following.set_at_ms >= first_ms)
    return was_set and window.starts_at_ms <= last_ms and window.ends_at_ms > first_ms


def check_moved_ends(packet: Packet, windows: Collection[Window]) -> list[Difference]:
    """I-window: after the sweep has adjusted ends, no open packet ends later than its campaign."""
    if packet.status is not PacketStatus.OPEN or not windows:
        return []
    ends_at_ms = max(windows, key=lambda window: window.version).ends_at_ms
    what = f"end within that of campaign {packet.rules.campaign_id}"
    wanted_ms = min(packet.expires_at_ms, ends_at_ms)
    if wanted_ms == packet.expires_at_ms:
        return []
    return [Difference("I-window", packet.packet_id, what, wanted_ms, packet.expires_at_ms)]


def check_own_ends(facts: PacketFacts, slack_ms: int = WINDOW_AGE_MAX_MS) -> list[Difference]:
    """I-window: no claim is later than 10 s after its packet's end, even an early one."""
    packet, expected = facts.packet, "before the packet ended"
    return [
        Difference(
            "I-window",
            packet.packet_id,
            f"share {share.share_no} claimed at {share.decided_at_ms}",
            expected,
            "after it",
        )
        for share in facts.shares
        if share.claimer and share.decided_at_ms > packet.rules.ends_at_ms + slack_ms
    ]


def check_lottery(facts: LotteryFacts) -> list[Difference]:
    """I9: prizes are won within stock, each unit once; draws and wins follow the rules."""
    return _check_stock(facts) + _check_units(facts) + _check_cash(facts) + _check_players(facts)


def check_told_draws(draws: Iterable[Draw], told: Iterable[Draw]) -> list[Difference]:
    """I5: every response to a draw request equals the stored draw."""
    recorded = {(draw.campaign_id, draw.user_id, draw.draw_id): draw for draw in draws}
    return [
        Difference("I5", answer.draw_id, f"told to {answer.user_id}", str(stored), str(answer))
        for answer in told
        if answer != (stored := recorded.get((answer.campaign_id, answer.user_id, answer.draw_id)))
    ]


def _check_stock(facts: LotteryFacts) -> list[Difference]:
    """Check that each won unit number is within stock; `_check_units` checks it is won once."""
    now_total = {prize.prize_id: prize.total for prize in facts.prizes}
    return [
        difference
        for draw in facts.draws
        if draw.prize
        for difference in check_unit(draw, now_total.get(draw.prize.prize_id, 0))
    ]


def _check_units(facts: LotteryFacts) -> list[Difference]:
    """Check that wins and unit rows correspond one to one, and that no unit is won twice."""
    won = [(draw, draw.prize) for draw in facts.draws if draw.prize]
    used = Counter(
        Unit(prize.prize_id, draw.unit_no, draw.draw_id)
        for draw, prize in won
        if prize.kind is not PrizeKind.PACKET
    ) + Counter(
        Unit(prize.prize_id, draw.day_no, draw.draw_id, draw.day)
        for draw, prize in won
        if draw.day_no
    )
    kept = Counter(facts.units)
    once = Counter((prize.prize_id, draw.user_id) for draw, prize in won if prize.once_per_user)
    return [
        Difference(
            "I9",
            f"{facts.campaign_id} {unit.prize_id}",
            f"rows of unit {unit.number} {unit.day} of draw {unit.draw_id}",
            used[unit],
            kept[unit],
        )
        for unit in used | kept
        if used[unit] != kept[unit]
    ] + [
        Difference("I9", f"{facts.campaign_id} {prize_id}", f"wins of {user_id}", 1, times)
        for (prize_id, user_id), times in once.items()
        if times > 1
    ]


def _check_cash(facts: LotteryFacts) -> list[Difference]:
    """Check that every won cash unit is a claim by its winner, and that no other claims exist."""
    packets = {packet_id for prize in facts.prizes for packet_id, _ in prize.packets}
    claimed: dict[ShareRef, list[tuple[str, int]]] = defaultdict(list)
    won: dict[ShareRef, list[tuple[str, int]]] = defaultdict(list)
    for share in facts.shares:
        if share.packet_id in packets and share.claimer:
            claimed[share.ref].append((share.claimer.user_id, share.amount_fen))
    for draw in facts.draws:
        if draw.prize and draw.prize.kind is PrizeKind.PACKET:
            ref = unit_share(draw.prize, draw.unit_no)
            won[ref].append((draw.user_id, draw.prize.amount_fen or 0))
    return [
        Difference(
            "I9",
            ref.packet_id,
            f"winner vs owner of share {ref.share_no}",
            str(won.get(ref)),
            str(claimed.get(ref)),
        )
        for ref in claimed.keys() | won.keys()
        if claimed.get(ref) != won.get(ref)
    ]


def _check_players(facts: LotteryFacts) -> list[Difference]:
    """Compare the counts for each user and day with the draws and the limits."""
    draw_counts = Counter((draw.user_id, draw.day) for draw in facts.draws)
    numbers: Counter[tuple[str, str]] = Counter()
    for draw in facts.draws:
        numbers[draw.user_id, draw.day] += draw.draw_no
    won = Counter((draw.user_id, draw.day) for draw in facts.draws if draw.prize)
    players = {(player.user_id, player.day): player for player in facts.players}
    differences = []
    for user_id, day in sorted({*draw_counts, *players}):
        subject = f"{facts.campaign_id} {user_id} {day}"
        player = players.get((user_id, day), PlayerDay(user_id, day, 0, 0, 0, 0, 0))
        pairs = (
            ("attempts counted", draw_counts[user_id, day], player.draw_count),
            ("sum of the numbers of draws", numbers[user_id, day], player.numbers_sum),
            ("wins counted", won[user_id, day], player.win_count),
        )
        differences += [Difference("I9", subject, *pair) for pair in pairs if pair[1] != pair[2]]
        differences += check_player(facts.campaign_id, player)
    return differences


def check_outside(facts: OutsideFacts, book: Iterable[StatementLine]) -> list[Difference]:
    """I6: the ledger agrees with *book*, which has all statement lines from the provider.

    A paid withdrawal has one successful transfer of the same amount; other withdrawals have none.
    Money that a provider received is credited once or refunded.
    """
    lines: Lines = defaultdict(list)
    for line in book:
        lines[line.kind, line.number].append(line)
    differences = _check_paid_out(facts, lines) + _check_taken(facts, lines)
    differences += _check_given_back(facts, lines)
    return differences + [
        Difference("I6", number, f"{kind} without a row in the ledger", 0, line.amount_fen)
        for (kind, number), rest in lines.items()
        for line in rest
    ]


Lines: TypeAlias = dict[tuple[StatementKind, str], list[StatementLine]]
"""Statement lines, keyed by kind and our number. Each check removes the lines that it examines."""


def _check_paid_out(facts: OutsideFacts, lines: Lines) -> list[Difference]:
    differences = []
    for withdrawal in facts.withdrawals:
        attempts = range(1, withdrawal.attempt_no + 1)
        numbers = [f"{withdrawal.withdrawal_id}{attempt:02d}" for attempt in attempts]
        paid = [
            line for number in numbers for line in lines.pop((StatementKind.TRANSFER, number), ())
        ]
        is_paid = withdrawal.status is WithdrawalStatus.PAID
        wanted = [withdrawal.amount_fen] if is_paid else []
        subject = withdrawal_account(withdrawal.withdrawal_id)
        differences += _unequal(subject, "paid by the gateway", wanted, paid)
    return differences


def _check_taken(facts: OutsideFacts, lines: Lines) -> list[Difference]:
    differences = []
    returned = {
        (payment_return.number, payment_return.transaction_id) for payment_return in facts.returns
    }
    for payment in facts.payments:
        subject = payment_account(payment.number)
        for line in lines.pop((StatementKind.PAYMENT, payment.number), ()):
            is_back = (payment.number, line.outside_no) in returned
            is_credited = payment.transaction_id == line.outside_no
            if is_credited is is_back:
                what = f"outcome of transaction {line.outside_no}"
                state = "both" if is_back else "neither"
                differences.append(Difference("I6", subject, what, "credited or given back", state))
    return differences


def _check_given_back(facts: OutsideFacts, lines: Lines) -> list[Difference]:
    differences = []
    # A refund whose order we lost counts as a refund that the provider started.
    for refund in facts.refunds:
        given = lines.pop((StatementKind.REFUND, refund.refund_no), [])
        subject = payment_account(refund.number)
        differences += _unequal(subject, "refunded outside", [refund.amount_fen], given)
    for payment_return in facts.returns:
        given = lines.pop((StatementKind.REFUND, payment_return.refund_no), [])
        wanted = [payment_return.amount_fen] if payment_return.status is ReturnStatus.DONE else []
        differences += _unequal(payment_account(payment_return.number), "given back", wanted, given)
    return differences


def _unequal(
    subject: str, what: str, wanted: list[int], lines: list[StatementLine]
) -> list[Difference]:
    amounts = [line.amount_fen for line in lines]
    return [] if amounts == wanted else [Difference("I6", subject, what, str(wanted), str(amounts))]
