"""Reads a day of a lottery from its proof, and checks which round of the beacon it took."""

from __future__ import annotations

import re
from dataclasses import dataclass

from redpacket.fairness.model.beacon import BeaconRound, CampaignBeacon
from redpacket.fairness.model.days import SEED_BYTES, chain_commitment, day_named, days_of_chain
from redpacket.lottery.model.odds import NO_BEACON
from redpacket.verify.files import Document, Unreadable, get
from redpacket.verify.findings import Findings
from redpacket.verify.rounds import chain_of, signature_of


@dataclass(frozen=True, slots=True)
class Day:
    """One day of a lottery, with its seed, and what the beacon contributed."""

    campaign_id: str
    name: str
    seed: bytes
    beacon: CampaignBeacon | None = None
    round: BeaconRound | None = None

    @property
    def commitment(self) -> str:
        """Commitment that the campaign has published since its creation."""
        return chain_commitment(self.campaign_id, self.seed, self.name, self.beacon)

    @property
    def randomness(self) -> str:
        """Beacon randomness in each point of the day."""
        return self.round.randomness if self.round else NO_BEACON

    @property
    def round_no(self) -> int | None:
        """The round that the day's draws took."""
        return self.round.round_no if self.round else None


def day_of(proof: Document) -> Day:
    """Return the day of a proof. Raises Unreadable."""
    seed_text, name = get(proof, "seed", str), get(proof, "day", str)
    if not re.fullmatch(rf"[0-9a-f]{{{2 * SEED_BYTES}}}", seed_text):
        raise Unreadable(f"seed is not {SEED_BYTES} bytes in hex")
    try:
        days_of_chain(name)
    except ValueError as error:
        raise Unreadable(str(error)) from error
    stated = proof.get("beacon")
    beacon = _beacon_of(stated) if isinstance(stated, dict) else None
    seed = bytes.fromhex(seed_text)
    return Day(get(proof, "campaign_id", str), name, seed, beacon, _round_of(proof, beacon))


def _beacon_of(stated: Document) -> CampaignBeacon:
    committed_at_ms, timezone = get(stated, "committed_at_ms", int), get(stated, "timezone", str)
    beacon = CampaignBeacon(chain_of(stated), committed_at_ms, timezone)
    try:
        return CampaignBeacon.parse(str(beacon))
    except ValueError as error:
        raise Unreadable(f"the beacon: {error}") from error


def _round_of(proof: Document, beacon: CampaignBeacon | None) -> BeaconRound | None:
    if beacon is None or proof.get("beacon_round") is None:
        return None
    return BeaconRound(get(proof, "beacon_round", int), signature_of(proof))


def check_round(day: Day, findings: Findings) -> None:
    """Compare the round with the one that was named before it existed. Raises Unreadable."""
    if day.beacon is None or day.round is None:
        return
    zone = day.beacon.timezone
    try:
        starts_at_ms = day_named(zone, day.name).starts_at_ms
    except (ValueError, OSError, KeyError) as error:
        # A zone that this machine lacks is a KeyError.
        raise Unreadable(f"the days of {zone}: {error}") from error
    named = day.beacon.round_of(starts_at_ms)
    findings.compare("beacon_round", stated=day.round.round_no, true=named)
