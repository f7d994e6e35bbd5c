"""Mapper between campaigns and CampaignsTable rows, kept small for the grab's cold start."""

from __future__ import annotations

import json
from typing import Any

from redpacket.campaigns.model import (
    AmountsShown,
    AudienceMode,
    Campaign,
    CampaignPlan,
    CampaignStatus,
    DrawRules,
    WhenSoldOut,
)
from redpacket.platform.dynamodb.client import Value


def campaign_of(row: dict[str, Any]) -> Campaign:
    """Parse a campaign's row."""
    return Campaign(
        **_plan_fields(row),
        audience_mode=audience_mode_of(row),
        budget_fen=row["budget_fen"],
        budget_left_fen=row["budget_left_fen"],
        version=row["version"],
        first_starts_at_ms=row.get("first_starts_at_ms", 0),
    )


def audience_mode_of(row: dict[str, Any]) -> AudienceMode | None:
    """Return the audience mode in a campaign's row or in its snapshot row."""
    return AudienceMode(row["audience_mode"]) if "audience_mode" in row else None


def plan_row(plan: CampaignPlan) -> dict[str, Value]:
    """Return the attributes of a plan in its campaign's row."""
    return {
        "campaign_id": plan.campaign_id,
        "title": plan.title,
        "description": plan.description,
        "starts_at_ms": plan.starts_at_ms,
        "ends_at_ms": plan.ends_at_ms,
        "timezone": plan.timezone,
        "miss_weight": plan.miss_weight,
        "attempts_per_user_per_day": plan.rules.attempts_per_user_per_day,
        "wins_per_user_per_day": plan.rules.wins_per_user_per_day,
        "guaranteed_after_misses": plan.rules.guaranteed_after_misses,
        "helps_per_user_per_day": plan.rules.helps_per_user_per_day,
        "helps_given_per_user_per_day": plan.rules.helps_given_per_user_per_day,
        "when_sold_out": plan.when_sold_out,
        "passphrase": plan.passphrase or "",
        "quota_per_user": plan.quota_per_user,
        "amounts_shown": plan.amounts_shown,
        "status": plan.status,
        "required_claims": json.dumps(plan.required_claims, ensure_ascii=False),
    }


def plan_of(row: dict[str, Any]) -> CampaignPlan:
    """Parse the plan in a campaign's row."""
    return CampaignPlan(**_plan_fields(row))


def _plan_fields(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "campaign_id": row["campaign_id"],
        "title": row["title"],
        "description": row["description"],
        "starts_at_ms": row["starts_at_ms"],
        "ends_at_ms": row["ends_at_ms"],
        "timezone": row["timezone"],
        "miss_weight": row["miss_weight"],
        "rules": DrawRules(
            row["attempts_per_user_per_day"],
            row["wins_per_user_per_day"],
            row["guaranteed_after_misses"],
            row["helps_per_user_per_day"],
            row["helps_given_per_user_per_day"],
        ),
        "when_sold_out": WhenSoldOut(row["when_sold_out"]),
        "passphrase": row["passphrase"] or None,
        "quota_per_user": row["quota_per_user"],
        "amounts_shown": AmountsShown(row["amounts_shown"]),
        "status": CampaignStatus(row["status"]),
        "required_claims": tuple(
            (name, tuple(allowed)) for name, allowed in json.loads(row.get("required_claims", "[]"))
        ),
    }
