"""Test vectors of the page's verifier, recomputed in Python."""

import json
from pathlib import Path
from typing import Any

from redpacket.fairness.model.days import chain_commitment
from redpacket.lottery.model.odds import choose, draw_point
from redpacket.packets.split import Split, Terms, amounts_fen, seed_of

FILE = Path(__file__).parents[2] / "vectors" / "fairness.json"


def _vectors() -> dict[str, Any]:
    vectors: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return vectors


def _terms(passphrase: dict[str, Any]) -> Terms:
    bounds = (passphrase["share_fen_min"], passphrase["share_fen_max"], passphrase["unit_fen"])
    total = (passphrase["total_fen"], passphrase["count"])
    return Terms(Split(passphrase["split"]), *total, *bounds, seed_of(passphrase["seed"]))


def test_packets_split_as_in_the_vectors() -> None:
    packets = _vectors()["packets"]

    assert {packet["terms"]["split"] for packet in packets} == set(Split)
    for packet in packets:
        terms = _terms(packet["terms"])
        assert terms.commitment == packet["commitment"]
        assert list(amounts_fen(terms)) == packet["amounts_fen"]


def test_draws_are_decided_as_in_the_vectors() -> None:
    for draw in _vectors()["draws"]:
        seed = bytes.fromhex(draw["seed"])
        campaign_id = draw["campaign_id"]
        assert chain_commitment(campaign_id, seed, draw["day"]) == draw["commitment"]
        point = draw_point(seed, campaign_id, draw["user_token"], draw["n"])
        assert point == draw["point"]
        assert choose(draw["odds"], draw["point"]) == draw["prize_id"]
