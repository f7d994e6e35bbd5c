"""Packet rain: campaigns, their budgets and packets, over HTTP against the deployed stack."""

import itertools
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
import redis

from local.client import until_answered
from redpacket.packets.model.packet import shard_id
from redpacket.packets.redis import keys
from tests.integration.conftest import Eventually, HttpUser, Invoke, MakeUser

_numbers = itertools.count(1)

DAY_MS = 24 * 3_600_000

Make = Callable[..., dict[str, Any]]


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _plan(**changes: Any) -> dict[str, Any]:
    now_ms = _now_ms()
    plan = {
        "title": "红包雨",
        "starts_at_ms": now_ms - 1_000,
        "ends_at_ms": now_ms + 30 * DAY_MS,
        "budget_fen": 10_000,
        "status": "on",
    }
    return {**plan, **changes}


def _put(operator: HttpUser, campaign_id: str, **changes: Any) -> httpx.Response:
    return operator.http.put(f"/admin/campaigns/{campaign_id}", json=_plan(**changes))


def _watch(operator: HttpUser, campaign_id: str) -> dict[str, Any]:
    answer = operator.http.get(f"/admin/campaigns/{campaign_id}")
    assert answer.status_code == httpx.codes.OK, answer.text
    campaign: dict[str, Any] = answer.json()
    return campaign


def _refusal(answer: httpx.Response) -> tuple[int, str]:
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    return answer.status_code, answer.json()["code"]


@pytest.fixture
def sponsor(a_user: MakeUser) -> HttpUser:
    """Return an operator with money."""
    name = f"sponsor-{next(_numbers)}"
    return a_user(name, funds_fen=200_000_000, scope="hongbao/admin")


@pytest.fixture
def made(sponsor: HttpUser, approver: HttpUser) -> Make:
    """Return a factory of campaigns for one test; another operator approves large budgets."""

    def make(**changes: Any) -> dict[str, Any]:
        campaign_id = f"rain-{next(_numbers)}"
        answer = _put(sponsor, campaign_id, **changes)
        if answer.status_code == httpx.codes.ACCEPTED:
            assert approver.approve(answer).is_success
            answer = sponsor.http.get(f"/admin/campaigns/{campaign_id}")
        assert answer.is_success, answer.text
        campaign: dict[str, Any] = answer.json()
        return campaign

    return make


# ---------------------------------------------------------------- campaigns


def test_twenty_concurrent_edits_are_serialized(sponsor: HttpUser, made: Make) -> None:
    campaign_id = made(budget_fen=1_000)["campaign_id"]

    def edit(number: int) -> httpx.Response:
        # Retry a request that times out while the emulator starts a process.
        return until_answered(
            lambda: _put(sponsor, campaign_id, version=1, budget_fen=1_000 + number)
        )

    with ThreadPoolExecutor(max_workers=10) as pool:
        answers = list(pool.map(edit, range(20)))

    (won,) = [answer.json() for answer in answers if answer.status_code == httpx.codes.OK]
    assert {answer.status_code for answer in answers} == {200, 409}
    assert _watch(sponsor, campaign_id) == won
    assert won["budget_left_fen"] == won["budget_fen"]


# ---------------------------------------------------------------- packets of a campaign


def test_many_concurrent_sends_never_overspend_the_budget(sponsor: HttpUser, made: Make) -> None:
    campaign_id = made(budget_fen=5_000)["campaign_id"]

    def send(number: int) -> httpx.Response:
        for _ in range(10):
            answer = sponsor.send(f"{campaign_id}-{number}", campaign_id=campaign_id)
            if answer.status_code not in {409, 503}:
                break
        return answer

    with ThreadPoolExecutor(max_workers=8) as pool:
        answers = list(pool.map(send, range(12)))

    statuses = sorted(answer.status_code for answer in answers)
    assert statuses == [201] * 5 + [402] * 7
    assert _watch(sponsor, campaign_id)["budget_left_fen"] == 0
    assert sponsor.balance_fen() == 200_000_000 - 5_000


def test_a_packet_of_a_million_shares_is_sent_and_its_first_grab_is_answered(
    sponsor: HttpUser, made: Make, a_user: MakeUser, eventually: Eventually
) -> None:
    campaign_id = made(budget_fen=200_000_000)["campaign_id"]
    pool: dict[str, Any] = {"kind": "equal", "total_fen": 100_000_000, "count": 1_000_000}

    sent = sponsor.send(campaign_id=campaign_id, **pool)
    chat = sponsor.send(**pool)
    claimer = a_user()
    claim = claimer.grab(sent.json()["packet_id"])

    assert sent.status_code == httpx.codes.CREATED, sent.text
    assert _refusal(chat) == (422, "invalid_request")
    assert claim.json()["amount_fen"] == 100
    eventually(lambda: claimer.balance_fen() == 100)


def test_a_sharded_packet_gives_each_user_one_share_even_after_the_loss_of_a_shard(
    sponsor: HttpUser, made: Make, a_user: MakeUser, cache: redis.Redis, eventually: Eventually
) -> None:
    campaign_id = made(budget_fen=200_000_000)["campaign_id"]
    pool: dict[str, Any] = {"kind": "equal", "total_fen": 4_000_200, "count": 40_002}
    packet_id = sponsor.send(campaign_id=campaign_id, **pool).json()["packet_id"]
    claimers = [a_user() for _ in range(12)]

    with ThreadPoolExecutor(4) as pool_of_threads:
        claims = list(pool_of_threads.map(lambda claimer: claimer.grab(packet_id).json(), claimers))
    cache.delete(*(keys.claim_cache(shard_id(packet_id, part)) for part in (0, 2)))
    again = [claimer.grab(packet_id).json() for claimer in claimers]
    newcomer = a_user().grab(packet_id).json()

    assert packet_id.endswith("~3")
    numbers = {claim["share_no"] for claim in claims}
    assert len(numbers) == 12
    assert newcomer["share_no"] not in numbers
    assert [claim["share_no"] for claim in again] == [claim["share_no"] for claim in claims]
    eventually(lambda: all(claimer.balance_fen() == 100 for claimer in claimers))
    assert sponsor.record(packet_id)["claimed_count"] == 13
    audit = sponsor.http.get(f"/admin/packets/{packet_id}/audit").json()
    assert audit["differences"] == []


def test_packets_follow_the_edited_window_of_their_campaign(
    sponsor: HttpUser, made: Make, a_user: MakeUser, invoke: Invoke, eventually: Eventually
) -> None:
    now_ms = _now_ms()
    old = {
        "postponed": {"starts_at_ms": now_ms + 8_000},
        "shortened": {},
        "extended": {"ends_at_ms": now_ms + 12_000},
    }
    new = {
        "postponed": {"starts_at_ms": now_ms + DAY_MS},
        "shortened": {"ends_at_ms": now_ms + 8_000},
        "extended": {"ends_at_ms": now_ms + DAY_MS},
    }
    campaigns = {name: made(**window)["campaign_id"] for name, window in old.items()}
    packets = {
        name: sponsor.send(name, campaign_id=campaign_id, total_fen=1_000, count=10).json()
        for name, campaign_id in campaigns.items()
    }
    ids = {name: packet["packet_id"] for name, packet in packets.items()}
    owner, newcomer = a_user(), a_user()
    claims = {name: owner.grab(ids[name]).json() for name in ("shortened", "extended")}
    for name, window in new.items():
        assert _put(sponsor, campaigns[name], **window).is_success
    # A function caches a campaign for four seconds.
    eventually(lambda: _now_ms() > now_ms + 13_000)

    assert _refusal(newcomer.grab(ids["postponed"])) == (409, "packet_not_started")
    assert _refusal(newcomer.grab(ids["shortened"])) == (410, "packet_expired")
    assert newcomer.grab(ids["extended"]).json()["outcome"] == "claimed"
    for name, claim in claims.items():
        assert owner.grab(ids[name]).json()["share_no"] == claim["share_no"]

    invoke("ExpireFunction", {})
    ended = eventually(
        lambda: (record := sponsor.record(ids["shortened"]))["status"] == "closed" and record
    )
    assert ended["refunded_fen"] == 1_000 - claims["shortened"]["amount_fen"]
    assert sponsor.record(ids["postponed"])["starts_at_ms"] == new["postponed"]["starts_at_ms"]
    extended = sponsor.record(ids["extended"])
    assert (extended["status"], extended["expires_at_ms"]) == (
        "open",
        new["extended"]["ends_at_ms"],
    )
    assert not newcomer.http.get(f"/campaigns/{campaigns['postponed']}").json()["packets"]
    longer = _put(sponsor, campaigns["shortened"], **new["extended"]).json()
    assert longer["closed_packets"] == 1
    assert sponsor.record(ids["shortened"])["status"] == "closed"
