"""Reader of a lottery day's proof, including the beacon round that a past day used."""

from __future__ import annotations

import re
from dataclasses import dataclass

from redpacket.fairness.model.beacon import BeaconRound, CampaignBeacon
from redpacket.fairness.model.days import SEED_BYTES, chain_commitment, day_named, days_of_chain
from redpacket.lottery.model.odds import NO_BEACON
from redpacket.verify.files import Document, Unreadable, get, shown_time
from redpacket.verify.findings import Findings

_QUICKNET = "52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971", 1_692_803_367, 3
"""Hash, genesis time in seconds, and period in seconds of the drand chain."""


@dataclass(frozen=True, slots=True)
class Day:
    """One day of a lottery, with its seed and the beacon's contribution."""

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
        """Beacon randomness that is part of each point of the day."""
        return self.round.randomness if self.round else NO_BEACON

    @property
    def round_no(self) -> int | None:
        """Round that the day's draws used."""
        return self.round.round_no if self.round else None


def day_of(proof: Document) -> Day:
    """Return the day that a proof describes. Raises Unreadable."""
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
    beacon = CampaignBeacon(
        get(stated, "chain_hash", str),
        get(stated, "genesis_s", int),
        get(stated, "period_s", int),
        get(stated, "committed_at_ms", int),
        get(stated, "timezone", str),
    )
    try:
        return CampaignBeacon.parse(str(beacon))
    except ValueError as error:
        raise Unreadable(f"the beacon: {error}") from error


def _round_of(proof: Document, beacon: CampaignBeacon | None) -> BeaconRound | None:
    if beacon is None or proof.get("beacon_round") is None:
        return None
    try:
        signature = bytes.fromhex(get(proof, "signature", str))
    except ValueError as error:
        raise Unreadable(f"the signature: {error}") from error
    if not signature:
        raise Unreadable("the signature is empty")
    return BeaconRound(get(proof, "beacon_round", int), signature)


def check_round(day: Day, findings: Findings) -> None:
    """Compare the round with the round that was named in advance. Raises Unreadable."""
    beacon = day.beacon
    if beacon is None or day.round is None:
        return
    if beacon.chain_hash == _QUICKNET[0]:
        # With other chain parameters, an old round could pass for a later one.
        stated = beacon.genesis_s, beacon.period_s
        findings.compare("the beacon's genesis_s and period_s", stated=stated, true=_QUICKNET[1:])
    zone = beacon.timezone
    try:
        starts_at_ms = day_named(zone, day.name).starts_at_ms
    except (ValueError, OSError, KeyError) as error:
        # A time zone that this machine lacks raises KeyError.
        raise Unreadable(f"the days of {zone}: {error}") from error
    named = beacon.round_of(starts_at_ms)
    findings.compare("beacon_round", stated=day.round.round_no, true=named)


def beacon_compared(day: Day, findings: Findings) -> list[str]:
    """Return lines about the checked and unchecked parts of a past day's beacon.

    Raises Unreadable.
    """
    if day.beacon is None:
        return ["order       not proven: the operator could have tried seeds before the campaign"]
    if day.round is None:
        if findings.draw_count:
            findings.differences.append("draws of a day whose round of the beacon is missing")
        return ["beacon      " + findings.skip("the day's round is missing")]
    round_no, chain_hash = day.round.round_no, day.beacon.chain_hash
    at = shown_time(day.beacon.time_ms(round_no))
    return [
        f"beacon      round {round_no} of chain {chain_hash}, signed at {at}",
        "signature   " + findings.skip("compare it with the answer of the beacon itself"),
        f"order       not proven: the commitment must have been known before {at}",
    ]
