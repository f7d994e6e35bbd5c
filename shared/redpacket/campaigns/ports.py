"""Ports for campaigns and lotteries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from redpacket.campaigns.model import Campaign
    from redpacket.operations.model.allowances import Allowance
    from redpacket.operations.model.operators import Action


class CampaignRepository(Protocol):
    """Campaigns and their packets."""

    def find_campaign(self, campaign_id: str) -> Campaign | None:
        """Return a campaign."""

    def list_packet_ids(self, campaign_id: str, after: str | None, limit: int) -> list[str]:
        """Return ids of the campaign's packets after the id *after*, sorted."""

    def list_newest_packet_ids(self, campaign_id: str, limit: int) -> list[str]:
        """Return ids of the campaign's newest packets, newest first; eventually consistent."""


class EditedCampaigns(CampaignRepository, Protocol):
    """Campaigns and their budgets, as operators edit them; `Funding.fund` adds packets."""

    def create(
        self, campaign: Campaign, action: Action | None = None, spent: Allowance | None = None
    ) -> bool:
        """Store a campaign, log *action* and count *spent*; False if the id exists."""

    def edit(
        self,
        campaign: Campaign,
        before: Campaign,
        action: Action | None = None,
        spent: Allowance | None = None,
    ) -> bool:
        """Replace *before* and adjust the remaining budget, which must suffice; log *action*."""
