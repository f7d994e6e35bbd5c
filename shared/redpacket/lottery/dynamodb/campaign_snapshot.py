"""Mapper between a campaign with its prizes and its packed row (docs/adr/0007)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from redpacket.campaigns.dynamodb import keys as campaign_keys
from redpacket.campaigns.dynamodb.items import audience_mode_of, plan_of, plan_row
from redpacket.campaigns.model import CampaignPlan, CampaignStatus
from redpacket.lottery.model.lottery import (
    CampaignSnapshot,
    PageNote,
    Prize,
    PrizeKind,
)
from redpacket.packets.model.seed_keys import SeedKeys
from redpacket.platform.dynamodb.client import Row, Value
from redpacket.platform.dynamodb.compression import json_text, packed, unpacked
from redpacket.platform.errors import InvalidRequest, InvariantViolated

PACKED_BYTES_MAX = 300_000
"""Maximum bytes of packed prizes; DynamoDB allows 400 KB for them, the plan and the note."""

IS_AS_READ = (
    "version = :read_version AND audience_edits = :read_edits"
    " OR version = :read_version AND attribute_not_exists(audience_edits)"
)

_PRIZE_FIELDS = [field.name for field in fields(Prize) if field.name != "campaign_id"]


def shown_row(plan: CampaignPlan, commitment: str) -> dict[str, Value]:
    """Return the packed row of a new campaign."""
    return {
        **campaign_keys.shown(plan.campaign_id),
        "plan": packed_plan(plan),
        "prizes": packed_prizes(()),
        "version": 1,
        "commitment": commitment,
    }


def packed_plan(plan: CampaignPlan) -> str | bytes:
    """Return a plan in packed form."""
    row = plan_row(plan)
    if not plan.required_claims:
        # Omit empty claims, because every uncached draw reads this row.
        del row["required_claims"]
    return packed(json_text(row))


def packed_prizes(prizes: Sequence[Prize]) -> str | bytes:
    """Return packed prizes, sorted by id. Raises InvalidRequest above PACKED_BYTES_MAX."""
    ordered = sorted(prizes, key=lambda prize: prize.prize_id)
    columns = {name: [getattr(prize, name) for prize in ordered] for name in _PRIZE_FIELDS}
    text = packed(json_text(columns))
    if len(text) > PACKED_BYTES_MAX:
        message = "makes the campaign's prizes too large together. Shorten their texts"
        raise InvalidRequest.of("description", message)
    return text


def snapshot_of(row: dict[str, Any]) -> CampaignSnapshot:
    """Parse a packed row."""
    plan = plan_of(json.loads(unpacked(row["plan"])))
    columns = json.loads(unpacked(row["prizes"]))
    rows = zip(*columns.values(), strict=True)
    prizes = tuple(
        _prize_of(plan.campaign_id, dict(zip(columns, values, strict=True))) for values in rows
    )
    audience = audience_mode_of(row), row.get("audience_edits", 0), row.get("audience_size", 0)
    return CampaignSnapshot(plan, prizes, row["version"], row["commitment"], *audience)


def read_values(snapshot: CampaignSnapshot) -> dict[str, Value]:
    """Return the values for IS_AS_READ, which fails if the campaign or its list was edited."""
    return {"read_version": snapshot.version, "read_edits": snapshot.audience_edits}


def note_row(note: PageNote) -> dict[str, Value]:
    """Return a page note's attributes."""
    # Prize ids contain no commas (campaigns/model.PRIZE_ID).
    sold_out = packed(",".join(sorted(note.sold_out)))
    return {"noted_sold_out": sold_out}


def note_of(row: dict[str, Any]) -> PageNote:
    """Parse the page note, which is empty until a page view stores one."""
    sold_out = unpacked(row["noted_sold_out"]) if "noted_sold_out" in row else ""
    return PageNote(frozenset(sold_out.split(",") if sold_out else ()))


def _prize_of(campaign_id: str, kept: dict[str, Any]) -> Prize:
    kept["kind"] = PrizeKind(kept["kind"])
    kept["status"] = CampaignStatus(kept["status"])
    kept["packets"] = tuple((packet_id, count) for packet_id, count in kept["packets"])
    return Prize(campaign_id=campaign_id, **kept)


def root_of(campaign_id: str, row: Row, seeds: SeedKeys | None) -> bytes:
    """Return the last day's seed. Raises InvariantViolated for a sealed seed without *seeds*."""
    if "sealed" not in row:
        return bytes.fromhex(str(row["seed"]))
    if seeds is None:
        raise InvariantViolated(f"the seeds of campaign {campaign_id} are sealed")
    return seeds.open(f"campaign {campaign_id}", bytes.fromhex(str(row["sealed"])))
