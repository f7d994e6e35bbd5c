"""Lookup of campaigns."""

from __future__ import annotations

from redpacket.campaigns.errors import CampaignNotFound
from redpacket.campaigns.model import Campaign
from redpacket.campaigns.ports import CampaignRepository


def get_campaign(campaign_id: str, *, campaigns: CampaignRepository) -> Campaign:
    """Return the campaign. Raises CampaignNotFound."""
    campaign = campaigns.find_campaign(campaign_id)
    if campaign is None:
        raise CampaignNotFound
    return campaign
