"""Edits of a campaign's list of allowed or denied users."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from redpacket.campaigns.audience_ports import AudienceCache, AudienceRows
from redpacket.campaigns.model import AudienceMode
from redpacket.campaigns.ports import CampaignRepository
from redpacket.campaigns.use_cases.get_campaign import get_campaign
from redpacket.platform.errors import InvalidRequest


@dataclass(frozen=True, slots=True)
class Audience:
    """Size and mode of a campaign's list."""

    size: int
    mode: AudienceMode | None


@dataclass(frozen=True, slots=True)
class AudiencePorts:
    """Dependencies of edits; *load_lottery* loads a campaign into the cache."""

    campaigns: CampaignRepository
    rows: AudienceRows
    cache: AudienceCache
    load_lottery: Callable[[str], None]


def edit_audience(
    campaign_id: str,
    add: Sequence[str],
    remove: Sequence[str],
    mode: AudienceMode | None,
    *,
    ports: AudiencePorts,
) -> Audience:
    """Edit the list, then its mode (None keeps it). Raises CampaignNotFound, InvalidRequest.

    If the cache may lack the edit, raises Unavailable; a repeat fixes it.
    """
    campaign = get_campaign(campaign_id, campaigns=ports.campaigns)
    if both := set(add) & set(remove):
        message = f"{len(both)} of them are also in add. List each user once"
        raise InvalidRequest.of("remove", message)
    users = tuple(dict.fromkeys(add)), tuple(dict.fromkeys(remove))
    size = ports.rows.edit(campaign_id, *users)
    ports.cache.edit(campaign_id, *users)
    if mode and mode is not campaign.audience_mode:
        ports.rows.set_mode(campaign_id, mode)
        ports.load_lottery(campaign_id)
    return Audience(size, mode or campaign.audience_mode)
