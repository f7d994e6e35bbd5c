"""Mapper between draws and their rows in DrawsTable."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from redpacket.campaigns.model import CampaignStatus
from redpacket.lottery.dynamodb import keys as draw_keys
from redpacket.lottery.model.lottery import (
    Draw,
    Player,
    Prize,
    PrizeKind,
    unit_share,
)
from redpacket.packets.model.claim import Share, ShareStatus
from redpacket.platform.dynamodb.client import Value
from redpacket.platform.user import User


def draw_row(draw: Draw) -> dict[str, Value]:
    """Return the row of a draw, whether it won or missed."""
    row: dict[str, Value] = {
        **draw_keys.draw(draw.campaign_id, draw.user_id, draw.draw_id),
        "campaign_id": draw.campaign_id,
        "user_id": draw.user_id,
        "draw_id": draw.draw_id,
        "day": draw.day,
        "draw_no": draw.draw_no,
        "drawn_at_ms": draw.drawn_at_ms,
        "point": draw.point,
        "odds": draw.odds,
        "table_version": draw.snapshot_version,
    }
    if draw.prize:
        row["prize"] = prize_text(draw.prize)
        row["unit_no"] = draw.unit_no
        row["day_no"] = draw.day_no
    return row


def draw_of(row: dict[str, Any]) -> Draw:
    """Parse a draw's row."""
    return Draw(
        campaign_id=row["campaign_id"],
        user_id=row["user_id"],
        draw_id=row["draw_id"],
        day=row["day"],
        draw_no=row["draw_no"],
        drawn_at_ms=row["drawn_at_ms"],
        point=row["point"],
        odds=row["odds"],
        snapshot_version=row["table_version"],
        prize=prize_of(row["prize"]) if "prize" in row else None,
        unit_no=row.get("unit_no", 0),
        day_no=row.get("day_no", 0),
    )


def won_by(draw: Draw) -> dict[str, Value]:
    """Return the attributes of a won unit's row that identify the winner and the draw."""
    return {"user_id": draw.user_id, "draw_id": draw.draw_id}


def player_of(row: dict[str, Any] | None) -> Player:
    """Parse a user's counters for one day; all are 0 without a row."""
    if row is None:
        return Player()
    counts = row["attempt_count"], row["win_count"], row["miss_streak"]
    return Player(*counts, help_count=row.get("help_count", 0))


def share_won(draw: Draw, prize: Prize) -> Share:
    """Return the claimed share that pays a won unit of a cash prize."""
    if prize.amount_fen is None:
        raise ValueError(f"cash prize {prize.prize_id} has no amount")
    ref = unit_share(prize, draw.unit_no)
    return Share(
        ref.packet_id,
        ref.share_no,
        ShareStatus.CLAIMED,
        prize.amount_fen,
        draw.drawn_at_ms,
        User(draw.user_id),
    )


def prize_text(prize: Prize) -> str:
    """Return a prize as JSON, for rows that store a copy of its current version."""
    return json.dumps(asdict(prize), ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def prize_of(text: str) -> Prize:
    """Parse the result of `prize_text`."""
    kept = json.loads(text)
    kept["kind"] = PrizeKind(kept["kind"])
    kept["status"] = CampaignStatus(kept["status"])
    kept["packets"] = tuple((packet_id, count) for packet_id, count in kept["packets"])
    return Prize(**kept)
