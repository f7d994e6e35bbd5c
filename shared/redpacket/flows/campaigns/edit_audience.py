"""Edit a campaign's list of users: who may take part, or who may not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from redpacket.domain.campaign import AudienceMode
from redpacket.domain.errors import InvalidRequest
from redpacket.flows.campaigns.edit_campaign import get_campaign
from redpacket.ports.audiences import AudienceCache, AudienceRows
from redpacket.ports.campaigns import Campaigns


@dataclass(frozen=True, slots=True)
class Audience:
    """A campaign's list: how many users it has, and what it is for."""

    size: int
    mode: AudienceMode | None


def edit_audience(
    campaign_id: str,
    add: Sequence[str],
    remove: Sequence[str],
    mode: AudienceMode | None,
    *,
    campaigns: Campaigns,
    rows: AudienceRows,
    cache: AudienceCache,
    load_lottery: Callable[[str], None],
) -> Audience:
    """Edit the list, then what it is for; repeating it is harmless.

    *mode* None leaves it as it is. Raises CampaignNotFound, InvalidRequest; Unavailable where the
    cache may have missed the edit: a repeat brings it.
    """
    campaign = get_campaign(campaign_id, campaigns=campaigns)
    if both := set(add) & set(remove):
        message = f"{len(both)} of them are to be added, too"
        raise InvalidRequest([{"field": "remove", "message": message}])
    users = tuple(dict.fromkeys(add)), tuple(dict.fromkeys(remove))
    size = rows.edit(campaign_id, *users)
    cache.edit(campaign_id, *users)
    if mode and mode is not campaign.audience_mode:
        rows.set_mode(campaign_id, mode)
        load_lottery(campaign_id)
    return Audience(size, mode or campaign.audience_mode)
