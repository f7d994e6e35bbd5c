"""Cache keys for audiences and quotas."""

from __future__ import annotations

from redpacket.campaigns.model import audience_bucket


def audience(campaign_id: str, bucket: int) -> str:
    """Return the key of a bucket in a campaign's list, in the slot of its users' quotas."""
    return f"rp:{{audience:{campaign_id}:{bucket}}}"


def audience_loading(campaign_id: str, bucket: int) -> str:
    """Return the key of the lock for loading a bucket of a campaign's list."""
    return f"{audience(campaign_id, bucket)}:loading"


def quota(campaign_id: str, user_id: str) -> str:
    """Return the key of the hash with the packets in which a user has reserved a share."""
    return f"{audience(campaign_id, audience_bucket(user_id))}:{user_id}"
