"""Beacon of a new campaign; none of its rounds exists yet."""

from __future__ import annotations

from redpacket.fairness.beacon_ports import Rounds
from redpacket.fairness.model.beacon import BeaconChain, CampaignBeacon
from redpacket.platform.runtime import Clock


def new_beacon(
    timezone: str, *, chain: BeaconChain, rounds: Rounds, clock: Clock
) -> CampaignBeacon:
    """Return the beacon of a campaign created now, after the newest verified round."""
    newest_ms = chain.time_ms(rounds.find_newest_no(chain.chain_hash))
    return CampaignBeacon(chain, max(clock.now_ms(), newest_ms), timezone)
