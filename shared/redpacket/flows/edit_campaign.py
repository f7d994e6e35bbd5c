"""Create a campaign, or edit it while it runs, and find it."""

from __future__ import annotations

from dataclasses import fields

from redpacket.domain.campaign import Campaign, CampaignPlan
from redpacket.domain.errors import (
    CampaignNotFound,
    InvalidRequest,
    Unavailable,
    VersionConflict,
)
from redpacket.ports import Campaigns, Draws, Packets

_TRIES = 4
"""Operators edit by hand: two at once are rare, and each try loses to somebody's success."""


def edit_campaign(
    plan: CampaignPlan,
    budget_fen: int | None,
    version: int | None,
    *,
    campaigns: Campaigns,
    draws: Draws,
    packets: Packets,
) -> tuple[Campaign, bool]:
    """Write *plan*, and return the campaign and whether it is new.

    *budget_fen* None leaves the budget as it is; it is 0 at first. *version* None edits whatever is
    there. Cash prizes then last until the campaign's end, wherever it is moved. Raises
    VersionConflict; InvalidRequest where more than the new budget is in packets, or where the days
    of a lottery would move.
    """
    for _ in range(_TRIES):
        before = campaigns.find_campaign(plan.campaign_id)
        if version is not None and version != (before.version if before else None):
            msg = f"it has version {before.version} by now" if before else "it does not exist"
            raise VersionConflict(msg)
        after = _edited(plan, budget_fen, before)
        # Another zone may end a day early, whose seed would be shown while it is still drawn with.
        if before and plan.timezone != before.timezone and draws.list_prizes(plan.campaign_id):
            kept = f"never changes once there are prizes: it is {before.timezone}"
            raise InvalidRequest([{"field": "timezone", "message": kept}])
        done = campaigns.edit(after, before) if before else campaigns.create(after)
        if done:
            # With every edit: one that was cut off here is made good by its repeat.
            for prize in draws.list_prizes(plan.campaign_id) if before else ():
                for packet_id, _ in prize.packets:
                    packets.reschedule(packet_id, after.ends_at_ms)
            return after, before is None
    msg = "others edit it at the same time"
    raise Unavailable(msg)


def get_campaign(campaign_id: str, *, campaigns: Campaigns) -> Campaign:
    """Return the campaign. Raises CampaignNotFound."""
    campaign = campaigns.find_campaign(campaign_id)
    if campaign is None:
        msg = "no such campaign"
        raise CampaignNotFound(msg)
    return campaign


def _edited(plan: CampaignPlan, budget_fen: int | None, before: Campaign | None) -> Campaign:
    had_fen, left_fen, version = (
        (before.budget_fen, before.budget_left_fen, before.version) if before else (0, 0, 0)
    )
    budget_fen = had_fen if budget_fen is None else budget_fen
    left_fen += budget_fen - had_fen
    if left_fen < 0:
        spent = f"is below the {budget_fen - left_fen} fen that are in packets already"
        raise InvalidRequest([{"field": "budget_fen", "message": spent}])
    planned = {field.name: getattr(plan, field.name) for field in fields(CampaignPlan)}
    return Campaign(**planned, budget_fen=budget_fen, budget_left_fen=left_fen, version=version + 1)
