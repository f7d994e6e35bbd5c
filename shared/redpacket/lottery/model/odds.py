"""Odds for a draw, and the point that chooses its prize."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from redpacket.campaigns.model import CampaignStatus, WhenSoldOut

if TYPE_CHECKING:
    from collections.abc import Collection

    from redpacket.lottery.model.lottery import CampaignSnapshot, DrawOutcome

POINT_BITS = 52
"""Bits of a random point; Lua's doubles represent integers below 2^52 exactly."""


_NO_MISS = "|0"
"""Suffix of odds that allow no miss."""


def point_text(seed: str, campaign_id: str, user_id: str, draw_no: int) -> str:
    """Return the text that is hashed into an attempt's point; users can't choose any part of it."""
    return f"rpd2,{seed},none,{campaign_id},{user_id},{draw_no}"


def draw_point(seed: bytes, campaign_id: str, user_id: str, draw_no: int) -> int:
    """Return the point that decides an attempt: the first 52 bits of SHA-256 of `point_text`."""
    text = point_text(seed.hex(), campaign_id, user_id, draw_no)
    digest = hashlib.sha256(text.encode()).digest()
    return int.from_bytes(digest[:8]) >> (64 - POINT_BITS)


def choose(odds: str, point: int) -> str | None:
    """Return the prize at *point* in *odds*, or None for a miss, exactly like the Lua script.

    Python and Lua compute `floor(point / 2^52 * total)` in doubles. Prizes precede the miss, in
    the order of the odds.
    """
    listed, _, miss = odds.partition("|")
    prizes = [entry.rpartition(":") for entry in listed.split(",") if entry]
    total = sum(int(weight) for _, _, weight in prizes) + int(miss)
    if total == 0:
        return None
    place = int(point / 2**POINT_BITS * total)
    for prize_id, _, weight in prizes:
        place -= int(weight)
        if place < 0:
            return prize_id
    return None


def probabilities(snapshot: CampaignSnapshot, sold_out: Collection[str]) -> dict[str, float]:
    """Return each prize's probability in a draw, which is 0 for *sold_out* and disabled prizes.

    User limits and a daily or hourly stock can change the probability for a single draw.
    """
    weights = {
        prize.prize_id: prize.weight
        for prize in snapshot.prizes
        if prize.status is CampaignStatus.ON
    }
    left = {name: weight for name, weight in weights.items() if name not in sold_out}
    is_miss = snapshot.campaign.when_sold_out is WhenSoldOut.MISS
    total = sum((weights if is_miss else left).values()) + snapshot.campaign.miss_weight
    return {
        prize.prize_id: round(left.get(prize.prize_id, 0) / total, 6) if total else 0.0
        for prize in snapshot.prizes
    }


def could_be(outcome: DrawOutcome, snapshot: CampaignSnapshot, point: int) -> bool:
    """Return whether *snapshot* allows this outcome; the cache is not trusted.

    Only the cache knows which prizes are sold out, so any prize may be missing from the odds.
    """
    prize = next(
        (candidate for candidate in snapshot.prizes if candidate.prize_id == outcome.prize_id), None
    )
    total, per_day = (prize.total, prize.per_day) if prize else (0, 0)
    return (
        outcome.snapshot_version == snapshot.version
        and outcome.odds in possible_odds(outcome.odds, snapshot)
        and choose(outcome.odds, point) == outcome.prize_id
        and min(1, total) <= outcome.unit_no <= total
        and min(1, per_day) <= outcome.day_no <= per_day
    )


def is_guaranteed(odds: str, snapshot: CampaignSnapshot) -> bool:
    """Return whether *odds* exclude a miss because the user has missed often enough."""
    usual, *_ = possible_odds(odds, snapshot)
    return odds != usual and odds.endswith(_NO_MISS)


def possible_odds(odds: str, snapshot: CampaignSnapshot) -> tuple[str, ...]:
    """Return the normal odds of the prizes in *odds*.

    If the campaign guarantees a prize after misses, also return the odds without a miss.
    """
    campaign = snapshot.campaign
    weights = {
        prize.prize_id: prize.weight
        for prize in snapshot.prizes
        if prize.status is CampaignStatus.ON and prize.weight
    }
    listed = odds.partition("|")[0].split(",")
    named = {entry.partition(":")[0] for entry in listed} & weights.keys()
    entries = ",".join(f"{prize_id}:{weights[prize_id]}" for prize_id in sorted(named))
    miss = campaign.miss_weight
    if campaign.when_sold_out is WhenSoldOut.MISS:
        miss += sum(weights[prize_id] for prize_id in weights.keys() - named)
    usual = f"{entries}|{miss}"
    may_owe = named and campaign.rules.guaranteed_after_misses
    return (usual, f"{entries}{_NO_MISS}") if may_owe else (usual,)


def has_prizes(odds: str) -> bool:
    """Return whether *odds* contain a prize."""
    return not odds.startswith("|")
