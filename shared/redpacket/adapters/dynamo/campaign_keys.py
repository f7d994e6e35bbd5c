"""Keys of campaigns, of the users whom they are for, and of those that draw by the beacon."""

from __future__ import annotations

from redpacket.domain.campaign import audience_bucket


def campaign(campaign_id: str) -> dict[str, str]:
    """CampaignsTable: a campaign with its budget."""
    return {"pk": f"campaign#{campaign_id}", "sk": "campaign"}


CAMPAIGNS = "campaigns"
"""CampaignsTable, index by_list: all campaigns by their start."""


def lottery_seed(campaign_id: str) -> dict[str, str]:
    """CampaignsTable: the secret of which the seeds of a campaign's days are made."""
    return {"pk": f"campaign#{campaign_id}", "sk": "seed"}


def campaign_packet(campaign_id: str, packet_id: str) -> dict[str, str]:
    """CampaignsTable: that a packet is of a campaign."""
    return {"pk": f"campaign#{campaign_id}", "sk": f"{CAMPAIGN_PACKET_PREFIX}{packet_id}"}


CAMPAIGN_PACKET_PREFIX = "packet#"
SHOWN = "shown"


def shown(campaign_id: str) -> dict[str, str]:
    """CampaignsTable: a campaign's plan with all its prizes, in one packed row (docs/adr/0014)."""
    return {"pk": f"campaign#{campaign_id}", "sk": SHOWN}


def member(campaign_id: str, user_id: str) -> dict[str, str]:
    """AudienceTable: whether a user is on a campaign's list."""
    return {**members(campaign_id, audience_bucket(user_id)), "sk": user_id}


def members(campaign_id: str, bucket: int) -> dict[str, str]:
    """AudienceTable: the partition of one part of a campaign's list."""
    return {"pk": f"members#{campaign_id}#{bucket}"}


def audience_size(campaign_id: str) -> dict[str, str]:
    """AudienceTable: how many users are on a campaign's list."""
    return {"pk": f"audience#{campaign_id}", "sk": "size"}


def verdict(user_id: str) -> dict[str, str]:
    """AudienceTable: what the host says of a user, for a while."""
    return {"pk": f"verdict#{user_id}", "sk": "verdict"}


def drawing(ends_at_ms: int, campaign_id: str) -> dict[str, str]:
    """TransparencyTable: that a campaign draws by the beacon; in the order of ends."""
    return {"pk": DRAWING, "sk": f"{ends_at_ms:013d}#{campaign_id}"}


DRAWING = "drawing"
DRAWING_LAST = "~"
