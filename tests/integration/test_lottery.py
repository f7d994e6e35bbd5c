"""Lottery: an operator's prizes and many concurrent draws, over HTTP against the deployed stack."""

import itertools
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
import redis

from tests.integration.conftest import HttpUser, MakeUser

_numbers = itertools.count(1)

HOUR_MS = 3_600_000
FUNDS_FEN = 1_000_000
PHRASE = "恭喜发财"

Make = Callable[..., str]


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _refusal(answer: httpx.Response) -> tuple[int, str]:
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    return answer.status_code, answer.json()["code"]


def _plan(**changes: Any) -> dict[str, Any]:
    now_ms = _now_ms()
    plan = {
        "title": "抽奖",
        "starts_at_ms": now_ms - 1_000,
        "ends_at_ms": now_ms + HOUR_MS,
        "miss_weight": 0,
        "passphrase": PHRASE,
        "status": "on",
    }
    return {**plan, **changes}


def _put_prize(
    operator: HttpUser, campaign_id: str, prize_id: str, **changes: Any
) -> httpx.Response:
    prize = {"title": prize_id, "kind": "goods", "weight": 1, "total": 10, **changes}
    path = f"/admin/campaigns/{campaign_id}/prizes/{prize_id}"
    return operator.http.put(path, json=prize)


def _add_stock(
    operator: HttpUser, campaign_id: str, prize_id: str, delta: int, key: str | None = None
) -> httpx.Response:
    path = f"/admin/campaigns/{campaign_id}/prizes/{prize_id}/stock"
    headers = {"Idempotency-Key": key or f"stock {next(_numbers)}"}
    return operator.http.post(path, json={"delta": delta}, headers=headers)


def _draw(user: HttpUser, campaign_id: str, key: str | None = None) -> dict[str, Any]:
    """Draw like a client that retries a 503 with the same key."""
    key = key or f"key {next(_numbers)}"
    for _ in range(40):
        answer = user.draw(campaign_id, key)
        if answer.status_code != httpx.codes.SERVICE_UNAVAILABLE:
            break
        time.sleep(0.25)
    assert answer.status_code == httpx.codes.OK, answer.text
    body: dict[str, Any] = answer.json()
    return body


def _prizes(operator: HttpUser, campaign_id: str) -> dict[str, dict[str, Any]]:
    watched = operator.http.get(f"/admin/campaigns/{campaign_id}").json()
    return {prize["prize_id"]: prize for prize in watched["prizes"]}


@pytest.fixture
def sponsor(a_user: MakeUser) -> HttpUser:
    """Return an operator with money."""
    name = f"lottery-sponsor-{next(_numbers)}"
    return a_user(name, funds_fen=FUNDS_FEN, scope="hongbao/admin")


@pytest.fixture
def made(sponsor: HttpUser) -> Make:
    """Return a factory of lotteries for one test, for example `made(phone={"total": 1})`."""

    def make(plan: dict[str, Any] | None = None, **prizes: dict[str, Any]) -> str:
        campaign_id = f"lottery-{next(_numbers)}"
        path = f"/admin/campaigns/{campaign_id}"
        created = sponsor.http.put(path, json=_plan(**plan or {}))
        assert created.status_code == httpx.codes.CREATED, created.text
        for prize_id, prize in prizes.items():
            answer = _put_prize(sponsor, campaign_id, prize_id, **prize)
            assert answer.status_code == httpx.codes.CREATED, answer.text
        return campaign_id

    return make


# ---------------------------------------------------------------- draws


def test_a_code_is_issued_once_and_shown_only_to_its_winner(
    sponsor: HttpUser, made: Make, a_user: MakeUser
) -> None:
    campaign_id = made(voucher={"kind": "code", "total": 0})
    path = f"/admin/campaigns/{campaign_id}"
    codes = [f"TEA-{number}" for number in range(60)]
    for _ in range(2):
        added = sponsor.http.post(f"{path}/prizes/voucher/codes", json={"add": codes})
        assert added.json()["total"] == len(codes), added.text
    users = [a_user() for _ in range(8)]

    with ThreadPoolExecutor(len(users)) as pool:
        draws = list(pool.map(lambda user: _draw(user, campaign_id, "key"), users))

    assert sorted(draw["code"] for draw in draws) == sorted(codes[: len(users)])
    for user, draw in zip(users, draws, strict=True):
        assert _draw(user, campaign_id, "key") == draw
        (mine,) = user.http.get(f"/campaigns/{campaign_id}/draws").json()["items"]
        assert mine["code"] == draw["code"]
    winners = sponsor.http.get(f"{path}/winners", headers={"Accept": "text/csv"}).text
    assert "voucher.1" in winners
    assert not any(code in winners + added.text for code in codes)


# ---------------------------------------------------------------- prizes


def test_a_change_of_stock_applies_once_for_its_key(sponsor: HttpUser, made: Make) -> None:
    campaign_id = made(cash={"kind": "packet", "amount_fen": 100, "total": 2}, pen={"total": 3})
    path = f"/admin/campaigns/{campaign_id}/prizes/cash/stock"
    key = f"{campaign_id} more"

    with ThreadPoolExecutor(max_workers=4) as pool:
        at_once = list(
            pool.map(lambda _: _add_stock(sponsor, campaign_id, "cash", 3, key), range(4))
        )
    again = _add_stock(sponsor, campaign_id, "cash", 3, key)

    # Each concurrent call gets the result or a temporary refusal.
    told = [answer.json() for answer in [*at_once, again] if answer.status_code == httpx.codes.OK]
    assert {answer.status_code for answer in at_once} <= {200, 409, 503}
    assert all(each == told[0] for each in told)
    assert (told[0]["total"], told[0]["version"]) == (5, 2)
    assert sponsor.balance_fen() == FUNDS_FEN - 500
    # The key is refused for another body or another prize, and a missing key is refused.
    for refused in (
        _add_stock(sponsor, campaign_id, "cash", 4, key),
        _add_stock(sponsor, campaign_id, "pen", 3, key),
    ):
        assert _refusal(refused) == (422, "idempotency_key_reused")
    missing = sponsor.http.post(path, json={"delta": 1})
    assert _refusal(missing) == (400, "idempotency_key_missing")
    assert {name: prize["total"] for name, prize in _prizes(sponsor, campaign_id).items()} == {
        "cash": 5,
        "pen": 3,
    }
    assert _add_stock(sponsor, campaign_id, "cash", -1).json()["total"] == 4
    assert _add_stock(sponsor, campaign_id, "cash", 3, key).json() == told[0]


def test_stock_that_is_added_during_draws_is_won_to_the_last_unit(
    sponsor: HttpUser, made: Make, a_user: MakeUser
) -> None:
    campaign_id = made({"miss_weight": 1}, phone={"total": 5})
    users = [a_user() for _ in range(12)]

    def act(number: int) -> str | None:
        if number % 10 == 9:
            assert _add_stock(sponsor, campaign_id, "phone", 1).status_code == httpx.codes.OK
            return None
        prize = _draw(users[number % 12], campaign_id)["prize"]
        return prize["prize_id"] if prize else None

    with ThreadPoolExecutor(max_workers=8) as pool:
        won = [each for each in pool.map(act, range(80)) if each]
    while _draw(users[next(_numbers) % 12], campaign_id)["prize"]:
        won.append("phone")

    assert len(won) <= 5 + 8
    phone = _prizes(sponsor, campaign_id)["phone"]
    assert (phone["total"], phone["issued"]) == (13, len(won))


def _all_draws(user: HttpUser, campaign_id: str) -> list[dict[str, Any]]:
    mine: list[dict[str, Any]] = user.http.get(f"/campaigns/{campaign_id}/draws").json()["items"]
    return mine


# ---------------------------------------------------------------- loss of the cache


def test_flushing_the_cache_during_draws_issues_no_unit_twice(
    sponsor: HttpUser, made: Make, a_user: MakeUser, cache: redis.Redis
) -> None:
    rules = {"attempts_per_user_per_day": 8}
    campaign_id = made({"rules": rules, "miss_weight": 1}, phone={"total": 20})
    users = [a_user() for _ in range(10)]

    def act(number: int) -> dict[str, Any] | None:
        if number in {20, 45}:
            cache.flushall()
        return _draw(users[number % 10], campaign_id, f"{campaign_id} {number}")

    with ThreadPoolExecutor(max_workers=8) as pool:
        draws = [each for each in pool.map(act, range(80)) if each]
    again = [
        _draw(users[number % 10], campaign_id, f"{campaign_id} {number}") for number in (3, 77)
    ]

    assert [each["draw_id"] for each in again] == [draws[3]["draw_id"], draws[77]["draw_id"]]
    assert [each["outcome"] for each in again] == [draws[3]["outcome"], draws[77]["outcome"]]
    wins = sum(draw["outcome"] == "won" for draw in draws)
    assert wins <= 20
    assert _prizes(sponsor, campaign_id)["phone"]["issued"] == wins
    for user in users:
        assert len(_all_draws(user, campaign_id)) == 8
        assert _refusal(user.draw(campaign_id)) == (403, "attempts_exhausted")
