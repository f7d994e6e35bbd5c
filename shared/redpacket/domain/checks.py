"""The invariants of docs/invariants.md as code: run after every test, and by audits in production.

Each check returns the differences it finds, and none where all is well. I6 speaks of withdrawals,
which this version does not have.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

from redpacket.domain.claim import Fate, ShareFate, ShareRef, Taker
from redpacket.domain.ledger import (
    DEPOSITS,
    FEN_MAX,
    Entry,
    may_go_below_zero,
    packet_of,
    user_account,
)
from redpacket.domain.lottery import Draw, Prize, PrizeKind, choose, unit_share
from redpacket.domain.packet import Packet, PacketEnd, PacketStatus
from redpacket.domain.split import share_amount_fen


@dataclass(frozen=True, slots=True)
class Difference:
    """One broken rule: *rule* is the invariant's number, *subject* the packet or account."""

    rule: str
    subject: str
    what: str
    expected: int | str
    actual: int | str


@dataclass(frozen=True, slots=True)
class PacketFacts:
    """All that the ledger knows of one packet, read strongly."""

    packet: Packet
    shares: Sequence[ShareFate]

    @property
    def held_fen(self) -> int:
        """What the packet still holds: its total less what was settled and refunded."""
        tally = Tally().add(self.shares)
        return self.packet.terms.total_fen - tally.settled_fen - tally.refunded_fen


@dataclass(frozen=True, slots=True)
class Told:
    """An answer that a user got."""

    packet_id: str
    user_id: str
    share_no: int
    amount_fen: int


@dataclass(frozen=True, slots=True)
class PlayerDay:
    """A user's counts of one day, and the limits that the last draw was held to."""

    user_id: str
    day: str
    attempt_count: int
    win_count: int
    help_count: int
    attempts_max: int
    wins_max: int


@dataclass(frozen=True, slots=True)
class Unit:
    """That a unit of a prize is won, of goods all in all, or, with *day*, of a day's stock."""

    prize_id: str
    number: int
    draw_id: str
    day: str = ""


@dataclass(frozen=True, slots=True)
class LotteryFacts:
    """All that the ledger knows of one campaign's draws; *shares* are those of cash prizes."""

    campaign_id: str
    prizes: list[Prize]
    draws: list[Draw]
    units: list[Unit]
    players: list[PlayerDay]
    shares: list[ShareFate]


def check_conservation(balances_fen: Mapping[str, int], held_fen: int) -> list[Difference]:
    """I1: wallets + outside + *held_fen*, what all packets hold, = deposits."""
    held = held_fen + sum(fen for account, fen in balances_fen.items() if account != DEPOSITS)
    deposited = -balances_fen.get(DEPOSITS, 0)
    if held == deposited:
        return []
    return [Difference("I1", "all accounts", "wallets + packets vs deposits", deposited, held)]


def check_entries(
    balances_fen: Mapping[str, int], ledger_entries: Iterable[Entry]
) -> list[Difference]:
    """I1: every balance is the sum of its account's entries, and transfers sum to zero.

    The other side of a packet's transfer is the packet's fates: domain/postings.py compares them.
    """
    by_account: dict[str, int] = defaultdict(int)
    by_transfer: dict[str, int] = defaultdict(int)
    for entry in ledger_entries:
        by_account[entry.account] += entry.amount_fen
        if packet_of(entry.counterparty):
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


@dataclass(slots=True)
class Tally:
    """What the fates of a packet add up to, taken page by page."""

    fate_count: int = 0
    settled_count: int = 0
    settled_fen: int = 0
    refunded_fen: int = 0
    unsettled_count: int = 0

    def add(self, shares: Iterable[ShareFate]) -> Tally:
        """Take more fates."""
        for share in shares:
            self.fate_count += 1
            if share.fate is Fate.REFUNDED:
                self.refunded_fen += share.amount_fen
            elif share.settled_at_ms is None:
                self.unsettled_count += 1
            else:
                self.settled_count += 1
                self.settled_fen += share.amount_fen
        return self


def check_packet_total(facts: PacketFacts) -> list[Difference]:
    """I2: settled + refunded are never over the total, and are the total once closed."""
    return check_tally(facts.packet, Tally().add(facts.shares))


def check_tally(packet: Packet, tally: Tally) -> list[Difference]:
    """I2: `check_packet_total` of a packet whose fates were added up before."""
    settled, refunded = tally.settled_fen, tally.refunded_fen
    total = packet.terms.total_fen
    if packet.status is not PacketStatus.CLOSED:
        if settled + refunded <= total:
            return []
        what = "settled + refunded at most"
        return [Difference("I2", packet.packet_id, what, total, settled + refunded)]
    end = packet.end or PacketEnd()
    pairs = (
        ("settled + refunded once closed", total, settled + refunded),
        ("refund on the packet row vs refunded shares", refunded, end.refunded_fen),
        ("claims on the packet row vs settled shares", settled, end.claimed_fen),
        ("shares with a fate once closed", packet.terms.count, tally.fate_count),
        ("unsettled claims once closed", 0, tally.unsettled_count),
    )
    return [Difference("I2", packet.packet_id, *pair) for pair in pairs if pair[1] != pair[2]]


def check_fates(facts: PacketFacts) -> list[Difference]:
    """I3: a share number has one fate at most, exists, and is worth what the terms say."""
    packet_id, terms = facts.packet.packet_id, facts.packet.terms
    differences = []
    for share_no, times in Counter(share.share_no for share in facts.shares).items():
        if times > 1:
            differences.append(Difference("I3", packet_id, f"fates of share {share_no}", 1, times))
    for share in facts.shares:
        exists = 1 <= share.share_no <= terms.count
        expected = share_amount_fen(terms, share.share_no) if exists else 0
        if share.amount_fen != expected:
            what = f"amount of share {share.share_no}"
            differences.append(Difference("I3", packet_id, what, expected, share.amount_fen))
    return differences


def check_once_per_user(facts: PacketFacts) -> list[Difference]:
    """I4: a user takes at most one share of a packet, but of a prize's, which are won."""
    if facts.packet.rules.prize_id:
        return []
    takers = Counter(share.taker.user_id for share in facts.shares if share.taker)
    return [
        Difference("I4", facts.packet.packet_id, f"shares of {user_id}", 1, times)
        for user_id, times in takers.items()
        if times > 1
    ]


def check_takers(shares: Iterable[ShareFate], takers: Iterable[Taker]) -> list[Difference]:
    """I4: every claim has its taker's note, of that share and amount; no note lacks its claim."""
    claimed: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    noted: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    for share in shares:
        if share.fate is Fate.CLAIMED:
            user_id = share.taker.user_id if share.taker else ""
            claimed[share.packet_id, user_id].append((share.share_no, share.amount_fen))
    for taker in takers:
        noted[taker.packet_id, taker.user_id].append((taker.share_no, taker.amount_fen))
    return [
        Difference(
            "I4",
            packet_id,
            f"share that the taker's row of {user_id} names",
            _numbers(claimed.get((packet_id, user_id), ())),
            _numbers(noted.get((packet_id, user_id), ())),
        )
        for packet_id, user_id in sorted(claimed.keys() | noted.keys())
        if sorted(claimed.get((packet_id, user_id), ()))
        != sorted(noted.get((packet_id, user_id), ()))
    ]


def check_packet_exists(
    shares: Iterable[ShareFate], packet_ids: Container[str]
) -> list[Difference]:
    """I3: a share with a fate belongs to a packet; without one nothing says what it is worth."""
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


def check_told(facts: PacketFacts, told: Iterable[Told]) -> list[Difference]:
    """I5: whatever a user was told is the durable truth, number and amount."""
    owned = {
        share.taker.user_id: (share.share_no, share.amount_fen)
        for share in facts.shares
        if share.taker
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


def check_bounds(
    balances_fen: Mapping[str, int], ledger_entries: Iterable[Entry]
) -> list[Difference]:
    """I7: no account below zero, every amount an integer in 1..cap."""
    below = [
        Difference("I7", account, "balance at least", 0, balance)
        for account, balance in balances_fen.items()
        if balance < 0 and not may_go_below_zero(account)
    ]
    odd = [
        Difference("I7", entry.transfer_id, "amount within", f"1..{FEN_MAX}", entry.amount_fen)
        for entry in ledger_entries
        if not 1 <= abs(entry.amount_fen) <= FEN_MAX
    ]
    return below + odd


def check_settled_in_time(facts: PacketFacts, now_ms: int, bound_ms: int) -> list[Difference]:
    """I8: once faults stop, claims are settled and due packets closed within *bound_ms*."""
    late = check_late_claims(facts.shares, now_ms, bound_ms)
    return late + check_late_close(facts.packet, now_ms, bound_ms)


def check_late_claims(shares: Iterable[ShareFate], now_ms: int, bound_ms: int) -> list[Difference]:
    """I8: claims are settled within *bound_ms*."""
    return [
        Difference(
            "I8",
            share.packet_id,
            f"share {share.share_no} settled by",
            share.decided_at_ms + bound_ms,
            now_ms,
        )
        for share in shares
        if share.fate is Fate.CLAIMED
        and share.settled_at_ms is None
        and now_ms > share.decided_at_ms + bound_ms
    ]


def check_late_close(packet: Packet, now_ms: int, bound_ms: int) -> list[Difference]:
    """I8: a packet is closed within *bound_ms* after its end."""
    by_ms = packet.expires_at_ms + bound_ms
    if packet.status is PacketStatus.CLOSED or now_ms <= by_ms:
        return []
    return [Difference("I8", packet.packet_id, "closed by", by_ms, now_ms)]


def check_claim_counts(
    packets: Iterable[PacketFacts], counts: Mapping[tuple[str, str], int]
) -> list[Difference]:
    """I9: what is counted against a quota, by campaign and user, are the claims that there are."""
    claimed = Counter(
        (facts.packet.rules.campaign_id, share.taker.user_id)
        for facts in packets
        for share in facts.shares
        # Prizes have rules of their own.
        if facts.packet.rules.campaign_id and not facts.packet.rules.prize_id and share.taker
    )
    return [
        Difference("I9", f"{campaign_id} {user_id}", "claims counted", claimed[key], counted)
        for key in sorted({*claimed, *counts})
        for campaign_id, user_id in [key]
        if (counted := counts.get((campaign_id or "", user_id), 0)) != claimed[key]
    ]


def check_open_counts(packets: Iterable[Packet], counts: Mapping[str, int]) -> list[Difference]:
    """I9: of each account is counted how many of its packets are open, so that no place is lost."""
    opened = Counter(
        user_account(packet.sender.user_id)
        for packet in packets
        if packet.counts_as_open and packet.status is not PacketStatus.CLOSED
    )
    return [
        Difference("I9", account, "open packets counted", opened[account], counted)
        for account in sorted({*opened, *counts})
        if (counted := counts.get(account, 0)) != opened[account]
    ]


def check_lottery(facts: LotteryFacts) -> list[Difference]:
    """I9: prizes won are within stock, each unit once; draws and wins are within the rules."""
    return _check_stock(facts) + _check_units(facts) + _check_cash(facts) + _check_players(facts)


def check_unit(draw: Draw, now_total: int) -> list[Difference]:
    """I9: a unit is within the stock that its win saw, or that the prize has now."""
    if draw.prize is None:
        return []
    differences = []
    subject = f"{draw.campaign_id} {draw.prize.prize_id}"
    # An edit may come between the cache's choice and the snapshot, and lower the total.
    total = max(draw.prize.total, now_total)
    if not 1 <= draw.unit_no <= total:
        differences.append(Difference("I9", subject, "unit within", total, draw.unit_no))
    if draw.prize.per_day and not 1 <= draw.day_no <= draw.prize.per_day:
        what = f"unit of {draw.day} within"
        differences.append(Difference("I9", subject, what, draw.prize.per_day, draw.day_no))
    return differences


def units_of(draw: Draw) -> list[Unit]:
    """Return what a win used up, but the share of a cash prize."""
    if draw.prize is None:
        return []
    goods = [Unit(draw.prize.prize_id, draw.unit_no, draw.draw_id)]
    of_day = [Unit(draw.prize.prize_id, draw.day_no, draw.draw_id, draw.day)]
    return goods * (draw.prize.kind is PrizeKind.GOODS) + of_day * bool(draw.day_no)


def check_player(campaign_id: str, player: PlayerDay) -> list[Difference]:
    """I9: what is counted of a user and a day is within the limits of their last draw."""
    subject = f"{campaign_id} {player.user_id} {player.day}"
    limits = (
        ("attempts within", player.attempts_max, player.attempt_count),
        ("wins within", player.wins_max, player.win_count),
    )
    return [Difference("I9", subject, *pair) for pair in limits if pair[1] < pair[2]]


def check_outcomes(draws: Iterable[Draw]) -> list[Difference]:
    """I5: a draw's outcome is what its point means by its odds, so that anybody can prove it."""
    return [
        Difference("I5", draw.draw_id, "prize that the point means", str(meant), str(given))
        for draw in draws
        if (meant := choose(draw.odds, draw.point))
        != (given := draw.prize.prize_id if draw.prize else None)
    ]


def check_told_draws(draws: Iterable[Draw], told: Iterable[Draw]) -> list[Difference]:
    """I5: whatever a user was told of a draw is the durable truth."""
    recorded = {(draw.campaign_id, draw.user_id, draw.draw_id): draw for draw in draws}
    return [
        Difference("I5", answer.draw_id, f"told to {answer.user_id}", str(known), str(answer))
        for answer in told
        if answer != (known := recorded.get((answer.campaign_id, answer.user_id, answer.draw_id)))
    ]


def check_packet(facts: PacketFacts) -> list[Difference]:
    """Run every check that one packet's facts allow at any moment of its life."""
    return check_packet_total(facts) + check_fates(facts) + check_once_per_user(facts)


def _check_stock(facts: LotteryFacts) -> list[Difference]:
    """Numbers are within the stock that a win saw: with each number once, so is their count."""
    now_total = {prize.prize_id: prize.total for prize in facts.prizes}
    return [
        difference
        for draw in facts.draws
        if draw.prize
        for difference in check_unit(draw, now_total.get(draw.prize.prize_id, 0))
    ]


def _check_units(facts: LotteryFacts) -> list[Difference]:
    """Every win has the rows of what it used up, and no row lacks its win; none is won twice."""
    won = [(draw, draw.prize) for draw in facts.draws if draw.prize]
    used = Counter(unit for draw, _ in won for unit in units_of(draw))
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
    """Every unit of cash that was won is a claim of its winner, and there are no other claims."""
    packets = {packet_id for prize in facts.prizes for packet_id, _ in prize.packets}
    claimed: dict[ShareRef, list[tuple[str, int]]] = defaultdict(list)
    won: dict[ShareRef, list[tuple[str, int]]] = defaultdict(list)
    for share in facts.shares:
        if share.packet_id in packets and share.taker:
            claimed[share.ref].append((share.taker.user_id, share.amount_fen))
    for draw in facts.draws:
        if draw.prize and draw.prize.kind is PrizeKind.PACKET:
            ref = unit_share(draw.prize, draw.unit_no)
            won[ref].append((draw.user_id, draw.prize.amount_fen or 0))
    return [
        Difference(
            "I9",
            ref.packet_id,
            f"who won share {ref.share_no} vs whose it is",
            str(won.get(ref)),
            str(claimed.get(ref)),
        )
        for ref in claimed.keys() | won.keys()
        if claimed.get(ref) != won.get(ref)
    ]


def _check_players(facts: LotteryFacts) -> list[Difference]:
    """What is counted of a user and a day are the draws that there are, within the limits."""
    drawn = Counter((draw.user_id, draw.day) for draw in facts.draws)
    won = Counter((draw.user_id, draw.day) for draw in facts.draws if draw.prize)
    players = {(player.user_id, player.day): player for player in facts.players}
    differences = []
    for user_id, day in sorted({*drawn, *players}):
        subject = f"{facts.campaign_id} {user_id} {day}"
        player = players.get((user_id, day), PlayerDay(user_id, day, 0, 0, 0, 0, 0))
        counted = player.attempt_count + player.help_count
        pairs = (
            ("attempts counted", drawn[user_id, day], counted),
            ("wins counted", won[user_id, day], player.win_count),
        )
        differences += [Difference("I9", subject, *pair) for pair in pairs if pair[1] != pair[2]]
        differences += check_player(facts.campaign_id, player)
    return differences


def _numbers(shares: Iterable[tuple[int, int]]) -> str:
    """Name shares with their amounts; "None" where there are none."""
    return ", ".join(str(share) for share in sorted(shares)) or "None"
