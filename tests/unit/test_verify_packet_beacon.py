"""`redpacket.verify` on packets that took a round of the beacon, from public answers alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from redpacket.domain.beacon import PacketBeacon
from redpacket.domain.split import Split, Terms
from redpacket.edge import views
from redpacket.flows.packets.read_proof import read_proof
from redpacket.verify.command import FALSE, TRUE, UNREADABLE, main
from redpacket.verify.findings import Findings
from redpacket.verify.packets import packet_beacon_compared
from redpacket.verify.rounds import QUICKNET, QUICKNET_KEY
from testing.builders import NOW_MS
from testing.in_memory_system import InMemorySystem, a_person
from tests.contract.test_drand import ROUND_123
from tests.unit.test_beacon import SIGNER
from tests.unit.test_packet_beacon import a_rain, let_round_come

Answers = tuple[dict[str, Any], dict[str, Any]]
Run = Callable[..., int]


@pytest.fixture(scope="module")
def answers() -> Answers:
    """What the API says of a rain that is emptied: its proof, and the page of it."""
    system = InMemorySystem()
    packet = a_rain(system, starts_in_ms=60_000, count=3)
    let_round_come(system, packet)
    for user in ("ann", "bob", "cat"):
        system.grab(packet, user)
    system.settle()
    record = system.read_record(packet, "ann")
    viewer = a_person("ann")
    proof = read_proof(packet.packet_id, viewer, after_no=0, limit=10, packets=system.packets)
    shown = views.record_view(record, views.People({}))
    proved, said = (json.loads(json.dumps(each)) for each in (views.proof_view(proof), shown))
    return proved, said


@pytest.fixture
def run(tmp_path: Path) -> Run:
    def verify(*documents: Any, key: str = SIGNER.public_key.hex()) -> int:
        names = []
        for number, document in enumerate(documents):
            name = tmp_path / f"{number}.json"
            name.write_text(json.dumps(document), encoding="utf-8")
            names.append(str(name))
        return main([*names, "--public-key", key])

    return verify


def test_what_the_api_says_is_true(
    answers: Answers, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    proof, record = answers

    assert run(proof, record) == TRUE

    said = capsys.readouterr().out
    assert f"beacon      round {record['beacon_round']} of chain {SIGNER.chain.chain_hash}" in said
    assert "signature   compared with the chain's public key" in said
    assert "order       not checked" in said
    assert proof["beacon_round"] == record["beacon_round"]
    assert record["beacon_at_ms"] == SIGNER.chain.time_ms(record["beacon_round"])


def _other_round(proof: dict[str, Any]) -> dict[str, Any]:
    """Take the next round: signed rightly, and not the one that was named."""
    round_no = proof["beacon_round"] + 1
    return {"beacon_round": round_no, "signature": SIGNER.signature(round_no).hex()}


@pytest.mark.parametrize(
    ("changes", "difference"),
    [
        (_other_round, "beacon_round: says"),
        (lambda proof: {"signature": proof["signature"][:-2] + "00"}, "the chain's, is forged"),
        (
            lambda _: {"signature": None, "beacon_round": None},
            "the packet's round never came",
        ),
        (lambda proof: {"beacon": {**proof["beacon"], "starts_at_ms": 1}}, "commitment: says"),
        (lambda _: {"beacon": None}, "commitment: says"),
    ],
)
def test_a_lie_about_the_round_is_found(
    answers: Answers,
    run: Run,
    capsys: pytest.CaptureFixture[str],
    changes: Callable[[dict[str, Any]], dict[str, Any]],
    difference: str,
) -> None:
    proof, record = answers

    assert run({**proof, **changes(proof)}, record) == FALSE

    assert difference in capsys.readouterr().out


def test_claims_with_hidden_amounts_of_a_round_that_never_came_are_found(
    answers: Answers, run: Run
) -> None:
    proof, record = answers
    hidden = [{**claim, "amount_fen": None} for claim in record["claims"]]
    missing = {**proof, "signature": None, "beacon_round": None}

    for said in ({"claims": hidden, "claimed_count": 0}, {"claims": [], "claimed_count": 3}):
        page = {**record, "luckiest": None, "mine": None, **said}
        assert run({**missing, "amounts_fen": [], "next": "0"}, page) == FALSE


def test_a_known_round_by_another_beginning_of_the_chain_is_found() -> None:
    # Round 123 of quicknet is of 2023, and its signature is right.
    genesis_s = NOW_MS // 1000 - 366
    chain = replace(QUICKNET, genesis_s=genesis_s)
    beacon = PacketBeacon(chain, NOW_MS - 10_000, NOW_MS - 10_000)
    assert beacon.round_no == 123
    findings = Findings()
    terms = Terms(Split.BELL, 10_000, 20, 1, 2_000, 1, b"0" * 16, beacon=str(beacon))
    terms = replace(terms, signature=ROUND_123.hex())

    packet_beacon_compared(terms, {"beacon_round": 123}, QUICKNET_KEY, findings)

    assert [one.partition(":")[0] for one in findings.differences] == ["the beacon's genesis_s"]


def test_a_start_that_was_moved_is_found(
    answers: Answers, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    proof, record = answers

    assert run(proof, {**record, "starts_at_ms": record["starts_at_ms"] - 1}) == FALSE

    assert "starts_at_ms: says" in capsys.readouterr().out


@pytest.mark.parametrize(
    "changes",
    [
        {"beacon": {}},
        {"signature": "xx"},
        {"signature": ""},
        {"beacon_round": "1"},
        {"beacon": {"chain_hash": "00"}},
    ],
)
def test_a_malformed_round_can_not_be_read(
    answers: Answers, run: Run, changes: dict[str, Any]
) -> None:
    proof, record = answers

    assert run({**proof, **changes}, record) == UNREADABLE
