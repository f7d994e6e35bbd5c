"""A lottery that draws by the beacon, on the deployed template and a beacon of its own."""

from __future__ import annotations

import time
from typing import Any

import httpx

from local.beacon.chain import LocalChain
from local.stack import Stack
from redpacket.bls import PublicKey
from redpacket.domain.beacon import BeaconRound
from testing.cloud import TABLES
from tests.integration.conftest import MakeUser, User

WAIT_S = 120
"""A stack that has just started runs its first schedule within a minute; then 15 s are enough."""


def _draw_as_told(user: User, campaign_id: str) -> dict[str, Any]:
    """Ask again when the answer says, as a client does."""
    give_up_at = time.monotonic() + WAIT_S
    while "retry-after" in (answer := user.draw(campaign_id)).headers:
        assert answer.json()["code"] == "beacon_pending"
        assert time.monotonic() < give_up_at, "the round never came"
        time.sleep(min(int(answer.headers["retry-after"]), 2))
    drawn: dict[str, Any] = answer.raise_for_status().json()
    return drawn


WAIT_S = 25


def test_a_campaign_that_starts_at_once_waits_for_its_first_round_and_then_draws(
    a_user: MakeUser, stack: Stack
) -> None:
    boss, ann = a_user(scope="hongbao/admin"), a_user()
    now_ms = time.time_ns() // 1_000_000
    plan = {"title": "gala", "starts_at_ms": now_ms, "ends_at_ms": now_ms + 3_600_000}
    path = "/admin/campaigns/gala-by-beacon"

    made = boss.http.put(path, json={**plan, "status": "on"}).json()
    prize = {"title": "cup", "kind": "goods", "weight": 1, "total": 10}
    assert boss.http.put(f"{path}/prizes/cup", json=prize).is_success
    early = ann.draw("gala-by-beacon")
    switched = boss.http.put(path, json={**plan, "status": "on", "draw_beacon": "none"})

    assert made["draw_beacon"] == "day"
    assert (early.status_code, early.json()["code"]) == (503, "beacon_pending")
    assert 1 <= int(early.headers["retry-after"]) <= 14
    assert switched.json()["code"] == "invalid_request"

    drawn = _draw_as_told(ann, "gala-by-beacon")
    (shown,) = ann.http.get("/campaigns/gala-by-beacon/draws").json()["items"]
    chain = LocalChain.of(stack.state_dir / "beacon.json", 0)
    said = httpx.get(f"{stack.beacon}/{made['beacon']['chain_hash']}/public/{made['beacon_round']}")

    assert drawn["outcome"] == "won"
    assert shown["beacon_round"] == made["beacon_round"]
    assert shown["formula"].startswith("rpd2,{seed},{randomness},gala-by-beacon,")
    signature = bytes.fromhex(said.json()["signature"])
    assert PublicKey(chain.public_key).has_signed(made["beacon_round"], signature)
    row = stack.aws("dynamodb").get_item(
        TableName=stack.outputs[TABLES["transparency"]],
        Key={
            "pk": {"S": f"beacon#{made['beacon']['chain_hash']}"},
            "sk": {"S": f"{made['beacon_round']:012d}"},
        },
    )["Item"]
    assert BeaconRound(1, bytes.fromhex(row["signature"]["S"])).signature == signature
