"""Loader of one bucket of a campaign's audience into the cache."""

from __future__ import annotations

from redpacket.campaigns.audience_ports import AudienceCache, AudienceRows
from redpacket.platform.errors import Unavailable

_LOAD_LIFE_MS = 2_000
"""Milliseconds that a loader has until another may try: 4,000 users take 50 ms."""


def load_audience(
    campaign_id: str, bucket: int, *, rows: AudienceRows, cache: AudienceCache
) -> None:
    """Load one bucket. Raises Unavailable while another caller loads or edits it."""
    lock_token = cache.begin_load(campaign_id, bucket, _LOAD_LIFE_MS)
    if lock_token is None or not cache.load(
        campaign_id, bucket, lock_token, rows.list_members(campaign_id, bucket)
    ):
        raise Unavailable("The campaign's list of users is being loaded. Try again.")
