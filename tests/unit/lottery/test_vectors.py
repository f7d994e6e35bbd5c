"""The vectors that the page's verifier is held to are what the rules in Python make."""

import json
from pathlib import Path
from typing import Any

from redpacket.fairness.model.beacon import BeaconChain, BeaconRound, CampaignBeacon
from redpacket.fairness.model.days import chain_commitment, day_named
from redpacket.lottery.model.odds import NO_BEACON, choose, draw_point
from redpacket.packets.split import Split, Terms, amounts_fen, seed_of

FILE = Path(__file__).parents[2] / "vectors" / "fairness.json"


def _vectors() -> dict[str, Any]:
    vectors: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return vectors


def _terms(said: dict[str, Any]) -> Terms:
    bounds = (said["share_fen_min"], said["share_fen_max"], said["unit_fen"])
    total = (said["total_fen"], said["count"])
    return Terms(Split(said["split"]), *total, *bounds, seed_of(said["seed"]))


def _beacon(said: dict[str, Any]) -> CampaignBeacon:
    chain = BeaconChain(said["chain_hash"], said["genesis_s"], said["period_s"])
    return CampaignBeacon(chain, said["committed_at_ms"], said["timezone"])


def test_packets_split_as_the_vectors_say() -> None:
    packets = _vectors()["packets"]

    assert {packet["terms"]["split"] for packet in packets} == set(Split)
    for packet in packets:
        terms = _terms(packet["terms"])
        assert terms.commitment == packet["commitment"]
        assert list(amounts_fen(terms)) == packet["amounts_fen"]


def test_draws_are_decided_as_the_vectors_say() -> None:
    for draw in _vectors()["draws"]:
        seed = bytes.fromhex(draw["seed"])
        campaign_id = draw["campaign_id"]
        beacon = _beacon(draw["beacon"]) if "beacon" in draw else None
        committed = chain_commitment(campaign_id, seed, draw["day"], beacon)
        assert committed == draw["commitment"]
        randomness = NO_BEACON
        if beacon:
            found = BeaconRound(draw["beacon_round"], bytes.fromhex(draw["signature"]))
            day = day_named(beacon.timezone, draw["day"])
            assert beacon.round_of(day.starts_at_ms) == found.round_no
            randomness = found.randomness
        point = draw_point(seed, campaign_id, draw["user_token"], draw["n"], randomness)
        assert point == draw["point"]
        assert choose(draw["odds"], draw["point"]) == draw["prize_id"]
