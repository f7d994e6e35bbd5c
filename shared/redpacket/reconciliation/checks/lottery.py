"""Checks of draws: I5 and I9."""

from __future__ import annotations

from collections.abc import Iterable

from redpacket.lottery.model.lottery import Draw
from redpacket.lottery.model.odds import choose
from redpacket.platform.difference import Difference


def check_unit(draw: Draw, now_total: int) -> list[Difference]:
    """I9: a won unit is within the stock at the time of the win or within the current stock."""
    if draw.prize is None:
        return []
    differences = []
    subject = f"{draw.campaign_id} {draw.prize.prize_id}"
    # An edit between the cache's choice of a unit and the draw's snapshot may have lowered the
    # total.
    total = max(draw.prize.total, now_total)
    if not 1 <= draw.unit_no <= total:
        differences.append(Difference("I9", subject, "unit within", total, draw.unit_no))
    if draw.prize.per_day and not 1 <= draw.day_no <= draw.prize.per_day:
        what = f"unit of {draw.day} within"
        differences.append(Difference("I9", subject, what, draw.prize.per_day, draw.day_no))
    return differences


def check_outcomes(draws: Iterable[Draw]) -> list[Difference]:
    """I5: a draw's outcome follows from the draw's point and odds, so that anyone can verify it."""
    return [
        Difference("I5", draw.draw_id, "prize for the point", str(meant), str(given))
        for draw in draws
        if (meant := choose(draw.odds, draw.point))
        != (given := draw.prize.prize_id if draw.prize else None)
    ]
