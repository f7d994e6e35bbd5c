"""Verifier of the numbers, points and prizes of a day's draws."""

from __future__ import annotations

import re
from collections.abc import Sequence

from redpacket.lottery.model.lottery import draw_id_of
from redpacket.lottery.model.odds import choose, draw_point, point_text
from redpacket.verify.days import Day
from redpacket.verify.files import COUNT_MAX, Document, Unreadable, get
from redpacket.verify.findings import SHOWN_MAX, Findings

_PRIZE = r"[a-z0-9][a-z0-9_-]{0,62}:\d{1,15}"
_ODDS = re.compile(rf"(?:{_PRIZE}(?:,{_PRIZE})*)?\|\d{{1,15}}")
"""Form of odds: `prize_id:weight,...|miss_weight`. A double holds 15-digit integers exactly."""


def verify_draws(
    day: Day,
    documents: Sequence[tuple[str, Document]],
    noted: str | None = None,
    user: str | None = None,
) -> Findings:
    """Compare the draws in *documents* with the draws computed from the day's seed.

    Raises Unreadable.
    """
    findings = Findings()
    if noted is not None:
        findings.compare("the noted commitment", stated=noted.lower(), true=day.commitment)
    numbers: dict[str, set[int]] = {}
    for name, document in documents:
        if "items" in document:
            drawer = get(document, "user_token", str)
            if user is not None:
                findings.compare(f"{name}: user_token", stated=drawer, true=user)
            seen = numbers.setdefault(drawer, set())
            for item in get(document, "items", list):
                if not isinstance(item, dict):
                    raise Unreadable("a draw is not a JSON object")
                _compare_draw(name, item, day, drawer, seen, findings)
        else:
            said_id = get(document, "campaign_id", str)
            findings.compare(f"{name}: campaign_id", stated=said_id, true=day.campaign_id)
            stated = get(document, "commitment", str)
            findings.compare(f"{name}: commitment", stated=stated, true=day.commitment)
    _check_order(numbers, findings)
    return findings


def _check_order(numbers: dict[str, set[int]], findings: Findings) -> None:
    """Check that each user's draw numbers on the day have no gap."""
    for drawer, seen in numbers.items():
        for missing in sorted({*range(1, max(seen, default=0))} - seen)[:SHOWN_MAX]:
            findings.differences.append(f"draw {missing} of {drawer} on that day is missing")


def _compare_draw(
    name: str, draw: Document, day: Day, drawer: str, seen: set[int], findings: Findings
) -> None:
    if get(draw, "day", str) != day.name:
        findings.other_day_count += 1
        return
    number, odds = get(draw, "n", int), get(draw, "odds", str)
    if not 1 <= number <= COUNT_MAX:
        raise Unreadable(f"no draw has the number {number}")
    if not _ODDS.fullmatch(odds):
        raise Unreadable(f"the odds of draw {number} can't be read")
    what = f"{name}: draw {number}"
    if number in seen:
        findings.differences.append(f"{what}: appears twice")
    seen.add(number)
    point = draw_point(day.seed, day.campaign_id, drawer, number)
    prize_id = choose(odds, point)
    formula = point_text("{seed}", day.campaign_id, drawer, number)
    true_id = draw_id_of(day.campaign_id, drawer, day.name, number)
    findings.compare(f"{what}: draw_id", stated=get(draw, "draw_id", str), true=true_id)
    findings.compare(f"{what}: formula", stated=get(draw, "formula", str), true=formula)
    findings.compare(f"{what}: point", stated=get(draw, "point", int), true=point)
    stated = draw.get("prize")
    said_id = get(stated, "prize_id", str) if isinstance(stated, dict) else stated
    findings.compare(f"{what}: prize", stated=said_id, true=prize_id)
    outcome = "won" if prize_id else "missed"
    findings.compare(f"{what}: outcome", stated=get(draw, "outcome", str), true=outcome)
    findings.draw_count += 1


def draws_compared(day: Day, findings: Findings) -> list[str]:
    """Return a summary of the compared draws of a day."""
    return [
        f"day         {day.name} of {day.campaign_id}",
        f"commitment  {day.commitment}",
        "order       not proven: the operator could have tried seeds before the campaign",
        f"compared    {findings.draw_count} draws, {findings.other_day_count} are of other days",
    ]
