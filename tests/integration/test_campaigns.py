"""Packet rain: an operator's campaign with its budget, over HTTP on the deployed template."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
import redis

from local.client import until_answered
from local.ports import HOST
from local.stack import Stack
from redpacket.adapters.redis import keys
from redpacket.domain.packet import part_id
from tests.integration.conftest import Eventually, Invoke, MakeUser, User, is_turned_away

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


def _put(operator: User, campaign_id: str, **changes: Any) -> httpx.Response:
    return operator.http.put(f"/admin/campaigns/{campaign_id}", json=_plan(**changes))


def _watch(operator: User, campaign_id: str) -> dict[str, Any]:
    answer = operator.http.get(f"/admin/campaigns/{campaign_id}")
    assert answer.status_code == httpx.codes.OK, answer.text
    campaign: dict[str, Any] = answer.json()
    return campaign


def _refusal(answer: httpx.Response) -> tuple[int, str]:
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    return answer.status_code, answer.json()["code"]


@pytest.fixture
def sponsor(a_user: MakeUser) -> User:
    """An operator with money of their own."""
    name = f"sponsor-{next(_numbers)}"
    return a_user(name, funds_fen=200_000_000, scope="hongbao/admin")


@pytest.fixture
def made(sponsor: User, approver: User) -> Make:
    """Make campaigns for one test; another operator approves a large budget."""

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


@pytest.fixture(scope="module")
def cache(stack: Stack) -> Iterator[redis.Redis]:
    client = redis.Redis(host=HOST, port=stack.redis_port)
    yield client
    client.close()


# ---------------------------------------------------------------- campaigns


def test_an_operator_creates_and_edits_and_users_see_neither_money_nor_passphrase(
    sponsor: User, a_user: MakeUser
) -> None:
    created = _put(sponsor, "spring-2027", passphrase="恭喜发财", quota_per_user=9)
    edited = _put(sponsor, "spring-2027", title="新年", quota_per_user=3, status="off")

    assert (created.status_code, edited.status_code) == (201, 200)
    assert (created.json()["version"], edited.json()["version"]) == (1, 2)
    assert created.json()["passphrase"] == "恭喜发财"
    assert _watch(sponsor, "spring-2027") == edited.json()
    seen = a_user().http.get("/campaigns/spring-2027").json()
    assert seen["title"] == "新年"
    assert (seen["quota_per_user"], seen["status"], seen["prizes"]) == (3, "off", [])
    assert (seen["timezone"], seen["when_sold_out"]) == ("Asia/Shanghai", "redistribute")
    hidden = {"passphrase", "budget_fen", "budget_left_fen", "version", "miss_weight"}
    assert not hidden & set(seen)


def test_a_stale_version_is_refused(sponsor: User, made: Make) -> None:
    campaign_id = made()["campaign_id"]
    assert _put(sponsor, campaign_id, version=1).status_code == httpx.codes.OK

    stale = _put(sponsor, campaign_id, version=1, title="too late")
    early = _put(sponsor, f"rain-{next(_numbers)}", version=1)

    assert _refusal(stale) == _refusal(early) == (409, "version_conflict")
    assert _watch(sponsor, campaign_id)["title"] == "红包雨"
    assert _put(sponsor, campaign_id, version=2).json()["version"] == 3


def test_twenty_edits_at_once_are_one_after_the_other(sponsor: User, made: Make) -> None:
    campaign_id = made(budget_fen=1_000)["campaign_id"]

    def edit(number: int) -> httpx.Response:
        # Cold processes of the emulator may take longer than a request waits: it is repeated then.
        return until_answered(
            lambda: _put(sponsor, campaign_id, version=1, budget_fen=1_000 + number)
        )

    with ThreadPoolExecutor(max_workers=10) as pool:
        answers = list(pool.map(edit, range(20)))

    (won,) = [answer.json() for answer in answers if answer.status_code == httpx.codes.OK]
    assert {answer.status_code for answer in answers} == {200, 409}
    assert _watch(sponsor, campaign_id) == won
    assert won["budget_left_fen"] == won["budget_fen"]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"starts_at_ms": 5, "ends_at_ms": 5}, "body"),
        ({"starts_at_ms": 1.5}, "starts_at_ms"),
        ({"ends_at_ms": 10**13}, "ends_at_ms"),
        ({"timezone": "Asia/Atlantis"}, "timezone"),
        ({"timezone": "localtime"}, "timezone"),
        ({"title": " "}, "title"),
        ({"description": "a\u202eb"}, "description"),
        ({"passphrase": "！？"}, "passphrase"),
        ({"budget_fen": -1}, "budget_fen"),
        ({"budget_fen": True}, "budget_fen"),
        ({"quota_per_user": -1}, "quota_per_user"),
        ({"rules": {"attempts_per_user_per_day": "3"}}, "rules.attempts_per_user_per_day"),
        ({"rules": {"more": 1}}, "rules.more"),
        ({"when_sold_out": "reroll"}, "when_sold_out"),
        ({"status": "paused"}, "status"),
        ({"version": 0}, "version"),
        ({"prizes": []}, "prizes"),
    ],
    ids=str,
)
def test_a_campaign_is_read_strictly(sponsor: User, changes: dict[str, Any], field: str) -> None:
    answer = _put(sponsor, "strict", **changes)

    assert _refusal(answer) == (422, "invalid_request")
    assert [error["field"] for error in answer.json()["errors"]] == [field]
    assert _refusal(sponsor.http.get("/campaigns/strict")) == (404, "campaign_not_found")


def test_only_operators_edit_watch_and_preheat(a_user: MakeUser, made: Make) -> None:
    campaign_id = made()["campaign_id"]
    user = a_user(funds_fen=1_000)

    answers = [
        _put(user, campaign_id),
        user.http.get(f"/admin/campaigns/{campaign_id}"),
        user.http.post(f"/admin/campaigns/{campaign_id}/preheat"),
    ]

    assert all(map(is_turned_away, answers))
    assert _refusal(user.send(campaign_id=campaign_id)) == (403, "forbidden")
    assert user.balance_fen() == 1_000


def test_what_does_not_exist_is_not_found(sponsor: User) -> None:
    answers = [
        sponsor.http.get("/campaigns/nowhere"),
        sponsor.http.get("/campaigns/NOWHERE"),
        sponsor.http.get("/admin/campaigns/nowhere"),
        sponsor.http.post("/admin/campaigns/nowhere/preheat"),
        _put(sponsor, "{rain}"),
        sponsor.send(campaign_id="nowhere"),
    ]

    assert {_refusal(answer) for answer in answers} == {(404, "campaign_not_found")}


# ---------------------------------------------------------------- packets of a campaign


def test_packets_are_sent_within_the_budget(sponsor: User, made: Make) -> None:
    campaign = made()
    campaign_id = campaign["campaign_id"]

    sent = sponsor.send(campaign_id=campaign_id, total_fen=9_000)
    over = sponsor.send(campaign_id=campaign_id, total_fen=1_001)
    rest = sponsor.send(campaign_id=campaign_id, total_fen=1_000)

    assert sent.status_code == rest.status_code == httpx.codes.CREATED
    assert sent.json()["campaign_id"] == campaign_id
    assert sent.json()["expires_at_ms"] == campaign["ends_at_ms"]
    assert _refusal(over) == (402, "insufficient_funds")
    assert "budget" in over.json()["detail"]
    watched = _watch(sponsor, campaign_id)
    assert (watched["budget_fen"], watched["budget_left_fen"]) == (10_000, 0)
    assert sponsor.balance_fen() == 200_000_000 - 10_000


def test_many_sends_at_once_never_overspend_the_budget(sponsor: User, made: Make) -> None:
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


def test_a_repeat_has_its_first_answer_when_the_campaign_is_over(sponsor: User, made: Make) -> None:
    campaign_id = made()["campaign_id"]
    first = sponsor.send("key", campaign_id=campaign_id, total_fen=10_000)
    assert _put(sponsor, campaign_id, status="off").status_code == httpx.codes.OK
    paused = sponsor.send(campaign_id=campaign_id)
    ends_at_ms = _now_ms() - 1
    over = _put(sponsor, campaign_id, starts_at_ms=1, ends_at_ms=ends_at_ms, status="on")
    assert over.status_code == httpx.codes.OK

    again = sponsor.send("key", campaign_id=campaign_id, total_fen=10_000)
    other = sponsor.send("key", campaign_id=campaign_id, total_fen=10_001)
    ended = sponsor.send(campaign_id=campaign_id)

    assert (again.status_code, again.json()) == (201, first.json())
    assert _refusal(other) == (422, "idempotency_key_reused")
    assert _refusal(paused) == (409, "campaign_paused")
    assert _refusal(ended) == (409, "campaign_ended")


def test_a_budget_moves_by_what_is_left(sponsor: User, made: Make) -> None:
    campaign_id = made()["campaign_id"]
    sponsor.send(campaign_id=campaign_id, total_fen=4_000)

    lowered = _put(sponsor, campaign_id, budget_fen=3_999)
    raised = _put(sponsor, campaign_id, budget_fen=20_000)
    kept = _put(sponsor, campaign_id, budget_fen=None)

    assert _refusal(lowered) == (422, "invalid_request")
    assert lowered.json()["errors"][0]["field"] == "budget_fen"
    assert [answer.json()["budget_left_fen"] for answer in (raised, kept)] == [16_000, 16_000]


def test_before_the_start_claims_are_refused(
    sponsor: User, made: Make, a_user: MakeUser, eventually: Eventually
) -> None:
    starts_at_ms = _now_ms() + 3_000
    campaign_id = made(starts_at_ms=starts_at_ms)["campaign_id"]
    sent = sponsor.send(campaign_id=campaign_id).json()
    taker = a_user()

    early = taker.grab(sent["packet_id"])

    assert sent["starts_at_ms"] == starts_at_ms
    assert _refusal(early) == (409, "packet_not_started")
    eventually(lambda: taker.grab(sent["packet_id"]).status_code == httpx.codes.OK)
    assert taker.record(sent["packet_id"])["mine"]["claimed_at_ms"] >= starts_at_ms


def test_a_preheat_loads_before_the_start_and_after_the_cache_was_lost(
    sponsor: User, made: Make, a_user: MakeUser, cache: redis.Redis
) -> None:
    campaign_id = made(starts_at_ms=_now_ms() + 3_600_000)["campaign_id"]
    ids = [
        sponsor.send(campaign_id=campaign_id, total_fen=1_000).json()["packet_id"] for _ in range(3)
    ]
    path = f"/admin/campaigns/{campaign_id}/preheat"

    def loaded() -> list[bool]:
        return [bool(cache.exists(keys.claim_cache(packet_id))) for packet_id in ids]

    assert loaded() == [True] * 3
    cache.flushall()
    assert loaded() == [False] * 3
    first, again = sponsor.http.post(path), sponsor.http.post(path)

    assert (first.status_code, again.status_code) == (202, 202)
    assert first.json() == again.json() == {"packet_count": 3, "loaded_count": 3, "next": None}
    assert loaded() == [True] * 3
    assert _refusal(a_user().grab(ids[0])) == (409, "packet_not_started")
    rest = sponsor.http.post(path, params={"cursor": min(ids)})
    assert rest.json() == {"packet_count": 2, "loaded_count": 2, "next": None}
    assert _refusal(sponsor.http.post(path, params={"cursor": "~"})) == (422, "invalid_request")


def test_a_preheat_knows_the_shares_that_were_taken(
    sponsor: User, made: Make, a_user: MakeUser, cache: redis.Redis
) -> None:
    campaign_id = made()["campaign_id"]
    packet_id = sponsor.send(campaign_id=campaign_id, count=2).json()["packet_id"]
    first, second = a_user(), a_user()
    claim = first.grab(packet_id).json()
    cache.flushall()

    sponsor.http.post(f"/admin/campaigns/{campaign_id}/preheat")

    other = second.grab(packet_id).json()
    assert other["share_no"] != claim["share_no"]
    assert first.grab(packet_id).json()["share_no"] == claim["share_no"]
    assert _refusal(a_user().grab(packet_id)) == (410, "packet_emptied")


def test_a_packet_of_a_million_shares_is_sent_and_its_first_grab_answered(
    sponsor: User, made: Make, a_user: MakeUser, eventually: Eventually
) -> None:
    campaign_id = made(budget_fen=200_000_000)["campaign_id"]
    pool: dict[str, Any] = {"kind": "equal", "total_fen": 100_000_000, "count": 1_000_000}

    sent = sponsor.send(campaign_id=campaign_id, **pool)
    chat = sponsor.send(**pool)
    taker = a_user()
    claim = taker.grab(sent.json()["packet_id"])

    assert sent.status_code == httpx.codes.CREATED, sent.text
    assert _refusal(chat) == (422, "invalid_request")
    assert claim.json()["amount_fen"] == 100
    eventually(lambda: taker.balance_fen() == 100)


def test_a_packet_in_parts_gives_each_user_one_share_also_where_a_part_is_lost(
    sponsor: User, made: Make, a_user: MakeUser, cache: redis.Redis, eventually: Eventually
) -> None:
    campaign_id = made(budget_fen=200_000_000)["campaign_id"]
    pool: dict[str, Any] = {"kind": "equal", "total_fen": 4_000_200, "count": 40_002}
    packet_id = sponsor.send(campaign_id=campaign_id, **pool).json()["packet_id"]
    takers = [a_user() for _ in range(12)]

    with ThreadPoolExecutor(4) as pool_of_threads:
        claims = list(pool_of_threads.map(lambda taker: taker.grab(packet_id).json(), takers))
    cache.delete(*(keys.claim_cache(part_id(packet_id, part)) for part in (0, 2)))
    again = [taker.grab(packet_id).json() for taker in takers]
    newcomer = a_user().grab(packet_id).json()

    assert packet_id.endswith("~3")
    numbers = {claim["share_no"] for claim in claims}
    assert len(numbers) == 12
    assert newcomer["share_no"] not in numbers
    assert [claim["share_no"] for claim in again] == [claim["share_no"] for claim in claims]
    eventually(lambda: all(taker.balance_fen() == 100 for taker in takers))
    assert sponsor.record(packet_id)["claimed_count"] == 13
    audit = sponsor.http.get(f"/admin/packets/{packet_id}/audit").json()
    assert audit["differences"] == []


def test_leftovers_go_back_to_the_operator_and_not_to_the_budget(
    sponsor: User, made: Make, a_user: MakeUser, invoke: Invoke, eventually: Eventually
) -> None:
    campaign_id = made()["campaign_id"]
    sent = sponsor.send(campaign_id=campaign_id, total_fen=1_000, count=4, expires_in_s=2).json()
    taker = a_user()
    amount_fen = taker.grab(sent["packet_id"]).json()["amount_fen"]

    def is_closed() -> bool:
        invoke("ExpireFunction", {"source": "aws.events"})
        return bool(sponsor.record(sent["packet_id"])["status"] == "closed")

    eventually(is_closed)

    record = sponsor.record(sent["packet_id"])
    assert (record["campaign_id"], record["refunded_fen"]) == (campaign_id, 1_000 - amount_fen)
    assert sponsor.balance_fen() == 200_000_000 - amount_fen
    watched = _watch(sponsor, campaign_id)
    assert (watched["budget_fen"], watched["budget_left_fen"]) == (10_000, 9_000)
    assert sponsor.http.post(f"/admin/campaigns/{campaign_id}/preheat").json()["packet_count"] == 0
