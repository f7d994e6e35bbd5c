"""Seeds of campaigns' last days, from which all other days' seeds follow."""

from __future__ import annotations

from redpacket.packets.model.seed_keys import SeedKeys
from redpacket.platform.dynamodb.client import Row
from redpacket.platform.errors import InvariantViolated


def root_of(campaign_id: str, row: Row, seeds: SeedKeys | None) -> bytes:
    """Return the seed of a campaign's last day; a sealed one needs *seeds* (InvariantViolated)."""
    if "sealed" not in row:
        return bytes.fromhex(str(row["seed"]))
    if seeds is None:
        raise InvariantViolated(f"the seeds of campaign {campaign_id} are sealed")
    return seeds.open(f"campaign {campaign_id}", bytes.fromhex(str(row["sealed"])))
