"""DynamoDB keys for campaigns and their audiences."""

from __future__ import annotations

from redpacket.campaigns.model import audience_bucket


def campaign(campaign_id: str) -> dict[str, str]:
    """Return the CampaignsTable key of a campaign and its budget."""
    return {"pk": f"campaign#{campaign_id}", "sk": "campaign"}


CAMPAIGNS = "campaigns"


def lottery_seed(campaign_id: str) -> dict[str, str]:
    """Return the CampaignsTable key of the secret from which a campaign's daily seeds derive."""
    return {"pk": f"seed#{campaign_id}", "sk": "seed"}


def campaign_packet(campaign_id: str, packet_id: str) -> dict[str, str]:
    """Return the CampaignsTable key of the row that lists a packet under its campaign.

    The campaign's row is in another partition, because functions that put rows in a partition can
    replace any row there.
    """
    return {"pk": packet_list(campaign_id), "sk": f"{CAMPAIGN_PACKET_PREFIX}{packet_id}"}


CAMPAIGN_PACKET_PREFIX = "packet#"


def window(campaign_id: str, version: int) -> dict[str, str]:
    """Return the key of the row for an edit's time window. Sends don't change this row."""
    return {"pk": f"windows#{campaign_id}", "sk": f"{WINDOW_PREFIX}{version:010d}"}


WINDOW_PREFIX = "window#"


def rain(campaign_id: str, position: str) -> dict[str, str]:
    """Return the CampaignsTable key of a funded rain; keys sort by the end of the last round."""
    return {"pk": packet_list(campaign_id), "sk": f"rain#{position}"}


def rain_plan(campaign_id: str, position: str) -> dict[str, str]:
    """Return the CampaignsTable key of a rain's plan, which users don't see."""
    return {"pk": packet_list(campaign_id), "sk": f"plan#{position}"}


def packet_list(campaign_id: str) -> str:
    """Return the partition of a campaign's packets in CampaignsTable and in its `by_list` index."""
    return f"packets#{campaign_id}"


SHOWN = "shown"


def shown(campaign_id: str) -> dict[str, str]:
    """Return the CampaignsTable key of a campaign's packed plan and prizes (docs/adr/0007)."""
    return {"pk": f"campaign#{campaign_id}", "sk": SHOWN}


def member(campaign_id: str, user_id: str) -> dict[str, str]:
    """Return the AudienceTable key of a user's membership in a campaign's list."""
    return {**members(campaign_id, audience_bucket(user_id)), "sk": user_id}


def members(campaign_id: str, bucket: int) -> dict[str, str]:
    """Return the AudienceTable partition for one bucket of a campaign's list."""
    return {"pk": f"members#{campaign_id}#{bucket}"}


def audience_size(campaign_id: str) -> dict[str, str]:
    """Return the AudienceTable key of a campaign's list size."""
    return {"pk": f"audience#{campaign_id}", "sk": "size"}
