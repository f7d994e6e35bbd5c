"""A lottery by the beacon, on the deployed template and a beacon of its own."""

import time
from typing import Any

import httpx

from local.beacon.chain import LocalChain
from local.stack import Stack
from redpacket.fairness.bls import PublicKey
from redpacket.fairness.clients.drand import DrandBeacon
from redpacket.fairness.dynamodb.rounds import DynamoRounds
from redpacket.fairness.model.beacon import BeaconRound
from redpacket.fairness.use_cases.fetch_rounds import fetch_rounds
from redpacket.platform.dynamodb.client import Dynamo
from redpacket.platform.runtime import SystemClock
from testing.fakes import FakeLogger
from testing.platform.cloud import tables_of
from tests.integration.conftest import MakeUser


def test_a_lottery_that_starts_at_once_waits_for_its_round_and_is_then_decided_by_it(
    a_user: MakeUser, stack: Stack, dynamodb: Any
) -> None:
    boss, ann = a_user(scope="hongbao/admin"), a_user()
    now_ms = time.time_ns() // 1_000_000
    plan = {
        "title": "gala",
        "starts_at_ms": now_ms,
        "ends_at_ms": now_ms + 3_600_000,
        "status": "on",
        "draw_beacon": "day",
    }
    path = "/admin/campaigns/gala-by-beacon"

    made = boss.http.put(path, json=plan).json()
    prize = {"title": "cup", "kind": "goods", "weight": 1, "total": 10}
    assert boss.http.put(f"{path}/prizes/cup", json=prize).is_success
    _check_waits(ann.draw("gala-by-beacon", key="one"), made["beacon_at_ms"])
    refused = [
        boss.http.put(f"{path}{other}", json={**plan, "draw_beacon": by})
        for other, by in (("", "none"), ("-by-draw", "draw"))
    ]

    assert made["draw_beacon"] == "day"
    assert [answer.status_code for answer in refused] == [422, 422]
    assert {answer.json()["code"] for answer in refused} == {"invalid_request"}

    # Beside the schedule, which runs for most of each minute, and may do it first.
    chain = LocalChain.of(stack.state_dir / "beacon.json", 0)
    rounds = DynamoRounds(Dynamo(lambda: dynamodb, tables_of(stack)))
    logger = FakeLogger()
    beacon = DrandBeacon(
        [stack.beacon],
        chain.chain,
        chain.public_key,
        logger=logger,
        call_ms_max=2_000,
        allows_private=True,
    )
    time.sleep(max(0, made["beacon_at_ms"] / 1000 - time.time()))
    while not rounds.find(chain.chain.chain_hash, made["beacon_round"]):
        fetch_rounds(
            0, chain=chain.chain, beacon=beacon, rounds=rounds, clock=SystemClock(), logger=logger
        )
    time.sleep(1)  # so long a process remembers that the round was missing
    body = ann.draw("gala-by-beacon", key="one").raise_for_status().json()
    (shown,) = ann.http.get("/campaigns/gala-by-beacon/draws").json()["items"]
    response = httpx.get(
        f"{stack.beacon}/{made['beacon']['chain_hash']}/public/{made['beacon_round']}"
    )

    assert (body["outcome"], shown["beacon_round"]) == ("won", made["beacon_round"])
    assert shown["formula"].startswith("rpd2,{seed},{randomness},gala-by-beacon,")
    signature = bytes.fromhex(response.json()["signature"])
    kept = BeaconRound(made["beacon_round"], signature)
    assert rounds.find(chain.chain.chain_hash, kept.round_no) == kept
    assert PublicKey(chain.public_key).has_signed(kept.round_no, signature)


def _check_waits(answer: httpx.Response, beacon_at_ms: int) -> None:
    """Check that nothing is decided before its round; on a slow machine the answer comes later."""
    if time.time_ns() // 1_000_000 < beacon_at_ms:
        assert (answer.status_code, answer.json()["code"]) == (409, "campaign_not_started")
        assert 1 <= int(answer.headers["retry-after"]) <= 15
