"""Checks of draws, prizes and players: I9."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from redpacket.domain.checks.facts import Difference, LotteryFacts, PlayerDay, Unit
from redpacket.domain.claim import ShareRef
from redpacket.domain.lottery import Draw, PrizeKind, choose, unit_share


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
    """Compare the counts of each user and day with the draws, and with the limits."""
    drawn = Counter((draw.user_id, draw.day) for draw in facts.draws)
    numbers: Counter[tuple[str, str]] = Counter()
    for draw in facts.draws:
        numbers[draw.user_id, draw.day] += draw.draw_no
    won = Counter((draw.user_id, draw.day) for draw in facts.draws if draw.prize)
    players = {(player.user_id, player.day): player for player in facts.players}
    differences = []
    for user_id, day in sorted({*drawn, *players}):
        subject = f"{facts.campaign_id} {user_id} {day}"
        player = players.get((user_id, day), PlayerDay(user_id, day, 0, 0, 0, 0, 0))
        pairs = (
            ("attempts counted", drawn[user_id, day], player.draw_count),
            ("sum of the numbers of draws", numbers[user_id, day], player.numbers_sum),
            ("wins counted", won[user_id, day], player.win_count),
        )
        differences += [Difference("I9", subject, *pair) for pair in pairs if pair[1] != pair[2]]
        differences += check_player(facts.campaign_id, player)
    return differences
