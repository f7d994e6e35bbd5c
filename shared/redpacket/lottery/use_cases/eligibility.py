"""Refusals of draws."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from redpacket.campaigns.errors import (
    CampaignEnded,
    CampaignNotStarted,
    CampaignPaused,
    NotInAudience,
)
from redpacket.campaigns.model import AudienceMode, CampaignStatus, meets
from redpacket.lottery.errors import AttemptsExhausted
from redpacket.lottery.model.lottery import DrawStatus
from redpacket.platform.clocks import CLOCKS_DIFFER_MS
from redpacket.platform.errors import Rejected

if TYPE_CHECKING:
    from redpacket.lottery.model.lottery import CampaignSnapshot, PlayerState
    from redpacket.lottery.use_cases.draw_ports import DrawPorts
    from redpacket.platform.user import User

REFUSALS: dict[DrawStatus, type[Rejected]] = {
    DrawStatus.CAMPAIGN_ENDED: CampaignEnded,
    DrawStatus.CAMPAIGN_NOT_STARTED: CampaignNotStarted,
    DrawStatus.CAMPAIGN_PAUSED: CampaignPaused,
    DrawStatus.ATTEMPTS_EXHAUSTED: AttemptsExhausted,
}


def refuse(status: DrawStatus) -> NoReturn:
    """Raise the error for a refused draw."""
    raise REFUSALS[status]


def started_table(campaign_id: str, ports: DrawPorts) -> CampaignSnapshot:
    """Return the table, or reject early users without a ledger read.

    Near the start the cache's clock decides.
    """
    table = ports.tables.get(campaign_id)
    if _is_long_before(table, ports):
        version = ports.claim_cache.find_version(campaign_id)
        if version is not None:
            table = ports.tables.get(campaign_id, version_min=version)
            if _is_long_before(table, ports):
                refuse(DrawStatus.CAMPAIGN_NOT_STARTED)
    return table


def _is_long_before(table: CampaignSnapshot, ports: DrawPorts) -> bool:
    return ports.clock.now_ms() < table.campaign.starts_at_ms - CLOCKS_DIFFER_MS


def check_audience(
    table: CampaignSnapshot, drawer: User, attempt: PlayerState, ports: DrawPorts
) -> None:
    """Reject users outside the audience, unless the campaign rejects all users anyway."""
    campaign, mode = table.campaign, table.audience_mode
    if campaign.status is CampaignStatus.OFF or ports.clock.now_ms() >= campaign.ends_at_ms:
        return
    is_in = mode is None or attempt.is_member is (mode is AudienceMode.ALLOW)
    is_denied = ports.clock.now_ms() < attempt.denied_until_ms
    if is_denied or not is_in or not meets(campaign.required_claims, drawer.claims):
        raise NotInAudience


def audience_of(table: CampaignSnapshot) -> object:
    """Return the parts of a table that define its audience, apart from the list."""
    return table.audience_mode, table.campaign.required_claims
