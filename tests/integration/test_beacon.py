"""A lottery and a packet by the beacon, on the deployed template and a beacon of its own."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from local.beacon.chain import LocalChain
from local.stack import Stack
from redpacket.adapters.drand import DrandBeacon
from redpacket.adapters.dynamo.client import Dynamo
from redpacket.adapters.dynamo.rounds import DynamoRounds
from redpacket.bls import PublicKey
from redpacket.domain.beacon import BeaconRound
from redpacket.edge.wiring.outside import SystemClock
from redpacket.flows.beacon.fetch_rounds import fetch_rounds
from redpacket.verify.command import TRUE, main
from testing.cloud import TABLES
from testing.fakes import FakeJournal
from tests.integration.conftest import MakeUser, User


def test_what_starts_at_once_waits_for_its_round_and_is_then_decided_by_it(
    a_user: MakeUser,
    stack: Stack,
    dynamodb: Any,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    boss, ann, bob = a_user(scope="hongbao/admin"), a_user(funds_fen=1_000), a_user()
    packet = ann.send(opening="two_step", amounts_beacon="round", count=2).json()
    takers = {user: user.grab(packet["packet_id"]).json()["grab_token"] for user in (ann, bob)}
    too_early = bob.open(packet["packet_id"], takers[bob])
    _check_pending(too_early, packet["beacon_at_ms"])
    now_ms = time.time_ns() // 1_000_000
    window = {"starts_at_ms": now_ms, "ends_at_ms": now_ms + 3_600_000}
    plan = {"title": "gala", **window, "draw_beacon": "day"}
    path = "/admin/campaigns/gala-by-beacon"

    made = boss.http.put(path, json={**plan, "status": "on"}).json()
    prize = {"title": "cup", "kind": "goods", "weight": 1, "total": 10}
    assert boss.http.put(f"{path}/prizes/cup", json=prize).is_success
    early = ann.draw("gala-by-beacon", key="one")
    _check_pending(early, made["beacon_at_ms"])
    waits = _begin_single_draw(boss, ann, {**plan, "status": "on"}, prize)
    switched = boss.http.put(path, json={**plan, "status": "on", "draw_beacon": "none"})

    assert made["draw_beacon"] == "day"
    assert switched.json()["code"] == "invalid_request"

    # Beside the schedule, which runs for most of each minute, and may do it first.
    chain = LocalChain.of(stack.state_dir / "beacon.json", 0)
    rounds = DynamoRounds(Dynamo(lambda: dynamodb), stack.outputs[TABLES["transparency"]])
    journal = FakeJournal()
    beacon = DrandBeacon(
        [stack.beacon],
        chain.chain,
        chain.public_key,
        journal=journal,
        call_ms_max=2_000,
        allows_private=True,
    )
    due_at_ms = max(made["beacon_at_ms"], packet["beacon_at_ms"])
    time.sleep(max(0, due_at_ms / 1000 - time.time()))
    due = {made["beacon_round"], packet["beacon_round"], waits["draw"]["beacon_round"]}
    while not all(rounds.find(chain.chain.chain_hash, round_no) for round_no in due):
        fetch_rounds(
            0,
            chain=chain.chain,
            beacon=beacon,
            rounds=rounds,
            clock=SystemClock(),
            journal=journal,
        )
    time.sleep(1)  # so long a process remembers that the round was missing
    drawn = ann.draw("gala-by-beacon", key="one").raise_for_status().json()
    (shown,) = ann.http.get("/campaigns/gala-by-beacon/draws").json()["items"]
    said = httpx.get(f"{stack.beacon}/{made['beacon']['chain_hash']}/public/{made['beacon_round']}")

    _complete_single_draw(ann, waits["draw"], chain)

    assert (drawn["outcome"], shown["beacon_round"]) == ("won", made["beacon_round"])
    assert shown["formula"].startswith("rpd2,{seed},{randomness},gala-by-beacon,")
    kept = BeaconRound(made["beacon_round"], bytes.fromhex(said.json()["signature"]))
    assert rounds.find(chain.chain.chain_hash, kept.round_no) == kept
    _check_signature(chain, made["beacon_round"], said.json()["signature"])

    claims = [user.open(packet["packet_id"], token).json() for user, token in takers.items()]
    assert sum(claim["amount_fen"] for claim in claims) == packet["total_fen"]
    path = f"/packets/{packet['packet_id']}"
    record, proof = ann.http.get(path).json(), ann.http.get(f"{path}/proof").json()
    files = [tmp_path / name for name in ("proof", "record", "sent")]
    for file, answer in zip(files, (proof, record, packet), strict=True):
        file.write_text(json.dumps(answer), encoding="utf-8")
    arguments = [*map(str, files), "--public-key", chain.public_key.hex()]
    assert main([*arguments, "--commitment", packet["commitment"]]) == TRUE, capsys.readouterr().out
    verdict, chain_hash = capsys.readouterr().out, chain.chain.chain_hash
    assert f"beacon      round {packet['beacon_round']} of chain {chain_hash}" in verdict
    assert "signature   compared with the chain's public key" in verdict


def _check_pending(answer: httpx.Response, beacon_at_ms: int) -> None:
    """Check that nothing is decided before its round; on a slow machine the answer comes later."""
    if time.time_ns() // 1_000_000 < beacon_at_ms:
        assert (answer.status_code, answer.json()["code"]) == (503, "beacon_pending")
        assert 1 <= int(answer.headers["retry-after"]) <= 15


def _begin_single_draw(
    boss: User, ann: User, plan: dict[str, Any], prize: dict[str, Any]
) -> dict[str, Any]:
    """Ask for a draw that takes a round of its own, and return the refusal."""
    path = "/admin/campaigns/gala-by-draws"
    made = boss.http.put(path, json={**plan, "draw_beacon": "draw"}).json()
    assert (made["beacon"]["is_per_draw"], made["beacon_round"]) == (True, None)
    assert boss.http.put(f"{path}/prizes/cup", json=prize).is_success
    waits: dict[str, Any] = ann.draw("gala-by-draws").json()
    assert waits["code"] == "beacon_pending"
    return waits


def _check_signature(chain: LocalChain, round_no: int, signature: str) -> None:
    assert PublicKey(chain.public_key).has_signed(round_no, bytes.fromhex(signature))


def _complete_single_draw(ann: User, fixed: dict[str, Any], chain: LocalChain) -> None:
    """The draw is what was told of it before its round was there."""
    drawn = ann.draw("gala-by-draws").raise_for_status().json()
    (shown,) = ann.http.get("/campaigns/gala-by-draws/draws").json()["items"]
    assert drawn["outcome"] == "won"
    assert {name: shown[name] for name in fixed} == fixed
    _check_signature(chain, fixed["beacon_round"], shown["signature"])
