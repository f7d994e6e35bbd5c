"""Lottery: an operator's prizes and a crowd that draws, over HTTP on the deployed template."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
import redis

from local.ports import HOST
from local.stack import Stack
from redpacket.domain.lottery import choose
from testing.ledger_state import lasting
from tests.integration.conftest import Eventually, Invoke, MakeUser, User, is_turned_away

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
        # These draw at once: tests/integration/test_beacon.py waits for a round.
        "draw_beacon": "none",
        "status": "on",
    }
    return {**plan, **changes}


def _put_prize(operator: User, campaign_id: str, prize_id: str, **changes: Any) -> httpx.Response:
    prize = {"title": prize_id, "kind": "goods", "weight": 1, "total": 10, **changes}
    path = f"/admin/campaigns/{campaign_id}/prizes/{prize_id}"
    return operator.http.put(path, json=prize)


def _add_stock(
    operator: User, campaign_id: str, prize_id: str, delta: int, key: str | None = None
) -> httpx.Response:
    path = f"/admin/campaigns/{campaign_id}/prizes/{prize_id}/stock"
    headers = {"Idempotency-Key": key or f"stock {next(_numbers)}"}
    return operator.http.post(path, json={"delta": delta}, headers=headers)


def _draw(user: User, campaign_id: str, key: str | None = None) -> dict[str, Any]:
    """Draw as a client does: 503 means ask again with the same key."""
    key = key or f"key {next(_numbers)}"
    for _ in range(40):
        answer = user.draw(campaign_id, key)
        if answer.status_code != httpx.codes.SERVICE_UNAVAILABLE:
            break
        time.sleep(0.25)
    assert answer.status_code == httpx.codes.OK, answer.text
    drawn: dict[str, Any] = answer.json()
    return drawn


def _prizes(operator: User, campaign_id: str) -> dict[str, dict[str, Any]]:
    watched = operator.http.get(f"/admin/campaigns/{campaign_id}").json()
    return {prize["prize_id"]: prize for prize in watched["prizes"]}


@pytest.fixture
def sponsor(a_user: MakeUser) -> User:
    """An operator with money of their own."""
    name = f"lottery-sponsor-{next(_numbers)}"
    return a_user(name, funds_fen=FUNDS_FEN, scope="hongbao/admin")


@pytest.fixture
def made(sponsor: User) -> Make:
    """Make lotteries for one test, `made(phone={"total": 1}, plan={"miss_weight": 5})`."""

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


@pytest.fixture(scope="module")
def cache(stack: Stack) -> Iterator[redis.Redis]:
    client = redis.Redis(host=HOST, port=stack.redis_port)
    yield client
    client.close()


# ---------------------------------------------------------------- draws


def test_a_draw_wins_by_its_odds_and_a_repeat_gets_the_same_answer(
    sponsor: User, made: Make, a_user: MakeUser
) -> None:
    campaign_id = made(phone={"total": 2, "image_url": "https://a.example/1.png"})
    user = a_user()

    first, again = _draw(user, campaign_id, "key"), _draw(user, campaign_id, "key")
    other = _draw(user, campaign_id, "another key")
    empty = _draw(user, campaign_id)

    assert first == again
    assert (first["outcome"], first["attempts_left"]) == ("won", None)
    assert first["prize"] == {
        "prize_id": "phone",
        "title": "phone",
        "kind": "goods",
        "amount_fen": None,
        "image_url": "https://a.example/1.png",
    }
    assert other["draw_id"] != first["draw_id"]
    assert (empty["outcome"], empty["prize"]) == ("missed", None)
    mine = user.http.get(f"/campaigns/{campaign_id}/draws").json()
    assert [item["draw_id"] for item in mine["items"]] == [
        drawn["draw_id"] for drawn in (empty, other, first)
    ]
    for item in mine["items"]:
        won = item["prize"]["prize_id"] if item["prize"] else None
        assert choose(item["odds"], item["point"]) == won
    assert a_user().http.get(f"/campaigns/{campaign_id}/draws").json()["items"] == []
    assert _prizes(sponsor, campaign_id)["phone"]["issued"] == 2


def test_a_hundred_draws_at_once_win_what_there_is_and_no_more(
    sponsor: User, made: Make, a_user: MakeUser
) -> None:
    campaign_id = made({"miss_weight": 2}, phone={"total": 5}, pen={"total": 8, "weight": 3})
    users = [a_user() for _ in range(20)]

    with ThreadPoolExecutor(max_workers=8) as pool:
        drawn = list(pool.map(lambda number: _draw(users[number % 20], campaign_id), range(100)))

    won = Counter(one["prize"]["prize_id"] for one in drawn if one["prize"])
    assert won == {"phone": 5, "pen": 8}
    issued = {name: prize["issued"] for name, prize in _prizes(sponsor, campaign_id).items()}
    assert issued == {"phone": 5, "pen": 8}
    shown = users[0].http.get(f"/campaigns/{campaign_id}").json()["prizes"]
    assert {prize["prize_id"] for prize in shown} == {"phone", "pen"}


def test_attempts_and_wins_of_a_day_are_limited_and_a_refusal_uses_up_nothing(
    made: Make, a_user: MakeUser
) -> None:
    rules = {"attempts_per_user_per_day": 3, "wins_per_user_per_day": 1}
    campaign_id = made({"rules": rules}, phone={"total": 10})
    user = a_user()

    drawn = [_draw(user, campaign_id, f"key {number}") for number in range(3)]
    refused = [user.draw(campaign_id, "key 3"), user.draw(campaign_id, "key 4")]

    assert [one["outcome"] for one in drawn] == ["won", "missed", "missed"]
    assert [one["attempts_left"] for one in drawn] == [2, 1, 0]
    assert {_refusal(answer) for answer in refused} == {(403, "attempts_exhausted")}
    assert _draw(user, campaign_id, "key 0")["prize"] == drawn[0]["prize"]
    assert len(user.http.get(f"/campaigns/{campaign_id}/draws").json()["items"]) == 3


def test_stock_of_a_day_and_of_an_hour_and_once_for_each_user(made: Make, a_user: MakeUser) -> None:
    campaign_id = made(
        daily={"per_day": 2, "total": 10},
        hourly={"per_hour": 1, "total": 10},
        once={"once_per_user": True, "total": 10},
    )
    ann, bob = a_user(), a_user()

    drawn = [_draw(ann, campaign_id) for _ in range(8)]

    won = Counter(one["prize"]["prize_id"] for one in drawn if one["prize"])
    assert won == {"daily": 2, "hourly": 1, "once": 1}
    assert _draw(bob, campaign_id)["prize"]["prize_id"] == "once"
    assert _draw(bob, campaign_id)["prize"] is None


def test_after_so_many_misses_a_draw_wins(made: Make, a_user: MakeUser) -> None:
    campaign_id = made(
        {"miss_weight": 1_000_000_000, "rules": {"guaranteed_after_misses": 2}},
        phone={"total": 1, "weight": 1},
    )
    user = a_user()

    outcomes = [_draw(user, campaign_id)["outcome"] for _ in range(4)]

    assert outcomes == ["missed", "missed", "won", "missed"]


@pytest.mark.parametrize(
    ("plan", "refused"),
    [
        ({"status": "off"}, (409, "campaign_paused")),
        ({"starts_at_ms": _now_ms() + HOUR_MS, "ends_at_ms": _now_ms() + 2 * HOUR_MS}, None),
        ({"starts_at_ms": 1, "ends_at_ms": 2}, (409, "campaign_ended")),
    ],
    ids=["off", "before", "after"],
)
def test_a_draw_out_of_the_window_is_refused_and_uses_up_nothing(
    sponsor: User,
    made: Make,
    a_user: MakeUser,
    plan: dict[str, Any],
    refused: tuple[int, str] | None,
) -> None:
    rules = {"attempts_per_user_per_day": 1}
    campaign_id = made({**plan, "rules": rules}, phone={})
    user, friend = a_user(), a_user()

    answers = [user.draw(campaign_id, "key") for _ in range(2)]
    help_ = friend.help(campaign_id, user.user_token(), PHRASE)

    expected = refused or (409, "campaign_not_started")
    assert {_refusal(answer) for answer in answers} == {expected}
    assert _refusal(help_) == expected
    edited = sponsor.http.put(f"/admin/campaigns/{campaign_id}", json=_plan(rules=rules))
    assert edited.status_code == httpx.codes.OK
    assert _draw(user, campaign_id, "key")["attempts_left"] == 0


def test_what_is_wrong_with_a_draw_is_said(made: Make, a_user: MakeUser) -> None:
    campaign_id = made(phone={})
    user = a_user()
    path = f"/campaigns/{campaign_id}/draws"

    assert _refusal(user.http.post(path)) == (400, "idempotency_key_missing")
    assert _refusal(user.post(path, {"prize_id": "phone"})) == (422, "invalid_request")
    for nowhere in ("nowhere", "NOWHERE", "{draw}"):
        assert _refusal(user.draw(nowhere)) == (404, "campaign_not_found")
        mine = user.http.get(f"/campaigns/{nowhere}/draws")
        assert _refusal(mine) == (404, "campaign_not_found")
    assert _draw(user, campaign_id)["outcome"] == "won"


def test_who_draws_too_fast_waits(made: Make, a_user: MakeUser) -> None:
    campaign_id = made(phone={"total": 100})
    user = a_user()

    with ThreadPoolExecutor(max_workers=8) as pool:
        answers = list(pool.map(lambda _: user.draw(campaign_id), range(40)))

    limited = [answer for answer in answers if answer.status_code == 429]
    assert limited
    assert {_refusal(answer) for answer in limited} == {(429, "rate_limited")}
    assert all(1 <= int(answer.headers["retry-after"]) <= 2 for answer in limited)
    wins = sum(answer.status_code == httpx.codes.OK for answer in answers)
    assert wins == len(user.http.get(f"/campaigns/{campaign_id}/draws").json()["items"])


def test_while_draws_are_off_draws_are_refused_and_nothing_is_lost(
    made: Make, a_user: MakeUser, operator: User, eventually: Eventually
) -> None:
    campaign_id = made({"rules": {"attempts_per_user_per_day": 1}}, phone={})
    user, friend = a_user(), a_user()
    token = user.user_token()

    def says(code: int) -> bool:
        return friend.draw(campaign_id, "probe").status_code == code

    operator.http.put("/admin/switches/draw", json={"on": False, "reason": "drill"})
    try:
        eventually(lambda: says(503))
        off, no_help = user.draw(campaign_id, "key"), friend.help(campaign_id, token, PHRASE)
    finally:
        operator.http.put("/admin/switches/draw", json={"on": True})
    eventually(lambda: says(200))

    assert _refusal(off) == _refusal(no_help) == (503, "switched_off")
    assert off.headers["retry-after"] == "10"
    assert _draw(user, campaign_id, "key")["attempts_left"] == 0


# ---------------------------------------------------------------- helps


def test_friends_give_attempts_once_each_and_so_many_a_day(made: Make, a_user: MakeUser) -> None:
    rules = {"attempts_per_user_per_day": 1, "helps_per_user_per_day": 2}
    campaign_id = made({"rules": rules}, phone={"total": 10})
    sharer, *friends = [a_user() for _ in range(4)]
    token = sharer.user_token()
    assert _draw(sharer, campaign_id)["attempts_left"] == 0
    assert _refusal(sharer.draw(campaign_id)) == (403, "attempts_exhausted")

    misheard = friends[0].help(campaign_id, token, "恭喜发才！")
    again = friends[0].help(campaign_id, token, PHRASE)
    second = friends[1].help(campaign_id, token, PHRASE)
    third = friends[2].help(campaign_id, token, PHRASE)

    assert misheard.json() == {"outcome": "helped", "attempts_left_of_inviter": 1}
    assert again.json() == {"outcome": "already_helped", "attempts_left_of_inviter": 1}
    assert second.json() == {"outcome": "helped", "attempts_left_of_inviter": 2}
    assert _refusal(third) == (403, "help_quota_exhausted")
    assert [_draw(sharer, campaign_id)["attempts_left"] for _ in range(2)] == [1, 0]
    assert _refusal(sharer.draw(campaign_id)) == (403, "attempts_exhausted")


def test_what_is_wrong_with_a_help_is_said(made: Make, a_user: MakeUser) -> None:
    campaign_id, silent = made(phone={}), made({"passphrase": None}, phone={})
    sharer, friend = a_user(), a_user()
    token = sharer.user_token()

    assert _refusal(sharer.help(campaign_id, token, PHRASE)) == (403, "self_help")
    assert _refusal(friend.help(silent, token, PHRASE)) == (403, "passphrase_mismatch")
    assert _refusal(friend.help("nowhere", token, PHRASE)) == (404, "campaign_not_found")
    nobody = friend.help(campaign_id, token[:-4] + "AAAA", PHRASE)
    assert _refusal(nobody) == (422, "invalid_request")
    tries = [_refusal(friend.help(campaign_id, token, "什么")) for _ in range(7)]
    assert tries[:4] == [(403, "passphrase_mismatch")] * 4
    assert tries[-1] == (429, "rate_limited")


# ---------------------------------------------------------------- prizes


def test_users_see_prizes_but_no_stock_and_no_weight_of_what_is_off(
    sponsor: User, made: Make, a_user: MakeUser
) -> None:
    campaign_id = made(
        phone={"attributes": {"colour": "red", "gb": 256}, "total": 1},
        secret={"status": "off", "weight": 9},
    )
    user = a_user()

    before = user.http.get(f"/campaigns/{campaign_id}").json()
    _draw(user, campaign_id)

    phone, secret = before["prizes"]
    assert phone["attributes"] == {"colour": "red", "gb": 256}
    assert (phone["weight"], secret["weight"]) == (1, None)
    assert not phone["is_sold_out"]
    assert not {"total", "issued", "version", "per_day"} & set(phone)
    assert len(before["commitment"]) == 64
    watched = _prizes(sponsor, campaign_id)
    assert (watched["secret"]["weight"], watched["secret"]["status"]) == (9, "off")
    assert (watched["phone"]["issued"], watched["phone"]["is_sold_out"]) == (1, True)


def test_what_is_wrong_with_a_prize_is_said(sponsor: User, made: Make, a_user: MakeUser) -> None:
    campaign_id = made(phone={}, cash={"kind": "packet", "amount_fen": 100, "total": 2})

    refused: list[tuple[str, dict[str, Any], str]] = [
        ("phone", {"kind": "packet", "amount_fen": 1}, "kind"),
        ("phone", {"total": 11}, "total"),
        ("phone", {"amount_fen": 5}, "body"),
        ("phone", {"weight": -1}, "weight"),
        ("phone", {"issued": 0}, "issued"),
        ("phone", {"title": " "}, "title"),
        ("cash", {"kind": "packet", "total": 2, "amount_fen": 101}, "amount_fen"),
        ("big", {"kind": "packet", "amount_fen": 20_001}, "amount_fen"),
        ("none", {"kind": "packet"}, "body"),
    ]
    for prize_id, changes, field in refused:
        answer = _put_prize(sponsor, campaign_id, prize_id, **changes)
        assert _refusal(answer) == (422, "invalid_request"), (prize_id, changes)
        assert field in [error["field"] for error in answer.json()["errors"]], answer.text
    poor = _put_prize(sponsor, campaign_id, "rich", kind="packet", amount_fen=20_000, total=51)
    assert _refusal(poor) == (402, "insufficient_funds")
    assert _refusal(_put_prize(sponsor, "nowhere", "pen")) == (404, "campaign_not_found")
    assert _refusal(_put_prize(sponsor, campaign_id, "Pen")) == (404, "campaign_not_found")
    assert _refusal(_add_stock(sponsor, campaign_id, "pen", 1)) == (404, "campaign_not_found")
    assert _refusal(_put_prize(sponsor, campaign_id, "phone", version=7)) == (
        409,
        "version_conflict",
    )
    user = a_user()
    assert is_turned_away(_put_prize(user, campaign_id, "phone"))
    assert is_turned_away(_add_stock(user, campaign_id, "phone", 1))
    assert set(_prizes(sponsor, campaign_id)) == {"phone", "cash"}
    assert sponsor.balance_fen() == FUNDS_FEN - 200


def test_the_days_of_a_lottery_do_not_move(sponsor: User, made: Make) -> None:
    rain, lottery = made(), made(phone={})

    moved = [
        sponsor.http.put(f"/admin/campaigns/{campaign_id}", json=_plan(timezone="UTC"))
        for campaign_id in (rain, lottery)
    ]

    assert moved[0].status_code == httpx.codes.OK
    assert _refusal(moved[1]) == (422, "invalid_request")
    assert [error["field"] for error in moved[1].json()["errors"]] == ["timezone"]


def test_edits_while_people_draw_act_at_once_and_stock_moves_by_deltas(
    sponsor: User, made: Make, a_user: MakeUser
) -> None:
    campaign_id = made(phone={"total": 2}, pen={"total": 5, "status": "off"})
    user = a_user()
    assert _draw(user, campaign_id)["prize"]["prize_id"] == "phone"

    more = _add_stock(sponsor, campaign_id, "phone", 1)
    assert (more.json()["total"], more.json()["issued"]) == (3, 1)
    assert _put_prize(sponsor, campaign_id, "phone", total=3, weight=0).status_code == 200
    assert _put_prize(sponsor, campaign_id, "pen", total=5, title="笔").status_code == 200
    assert _draw(user, campaign_id)["prize"]["title"] == "笔"
    assert _put_prize(sponsor, campaign_id, "phone", total=3).status_code == 200
    assert _put_prize(sponsor, campaign_id, "pen", total=5, status="off").status_code == 200
    assert [_draw(user, campaign_id)["prize"] is None for _ in range(3)] == [False, False, True]
    assert _refusal(_add_stock(sponsor, campaign_id, "phone", -1)) == (422, "invalid_request")
    less = _add_stock(sponsor, campaign_id, "pen", -4)
    assert (less.json()["total"], less.json()["issued"]) == (1, 1)
    titles = [item["prize"] and item["prize"]["title"] for item in _all_draws(user, campaign_id)]
    assert titles == [None, "phone", "phone", "笔", "phone"]


def test_a_change_of_stock_is_made_once_for_its_key(sponsor: User, made: Make) -> None:
    campaign_id = made(cash={"kind": "packet", "amount_fen": 100, "total": 2}, pen={"total": 3})
    path = f"/admin/campaigns/{campaign_id}/prizes/cash/stock"
    key = f"{campaign_id} more"

    with ThreadPoolExecutor(max_workers=4) as pool:
        at_once = list(
            pool.map(lambda _: _add_stock(sponsor, campaign_id, "cash", 3, key), range(4))
        )
    again = _add_stock(sponsor, campaign_id, "cash", 3, key)

    # Concurrent calls may be told to retry; no call gets any other answer.
    told = [answer.json() for answer in [*at_once, again] if answer.status_code == httpx.codes.OK]
    assert {answer.status_code for answer in at_once} <= {200, 409, 503}
    assert all(one == told[0] for one in told)
    assert (told[0]["total"], told[0]["version"]) == (5, 2)
    assert sponsor.balance_fen() == FUNDS_FEN - 500
    # Another body, another prize, and no key at all.
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


def test_stock_that_is_added_while_a_crowd_draws_is_won_to_the_last_unit(
    sponsor: User, made: Make, a_user: MakeUser
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
        won = [one for one in pool.map(act, range(80)) if one]
    while _draw(users[next(_numbers) % 12], campaign_id)["prize"]:
        won.append("phone")

    assert len(won) <= 5 + 8
    phone = _prizes(sponsor, campaign_id)["phone"]
    assert (phone["total"], phone["issued"]) == (13, len(won))


def _all_draws(user: User, campaign_id: str) -> list[dict[str, Any]]:
    mine: list[dict[str, Any]] = user.http.get(f"/campaigns/{campaign_id}/draws").json()["items"]
    return mine


# ---------------------------------------------------------------- what Redis forgets


def test_a_cache_that_is_flushed_while_a_crowd_draws_gives_nothing_twice(
    sponsor: User, made: Make, a_user: MakeUser, cache: redis.Redis
) -> None:
    rules = {"attempts_per_user_per_day": 8}
    campaign_id = made({"rules": rules, "miss_weight": 1}, phone={"total": 20})
    users = [a_user() for _ in range(10)]

    def act(number: int) -> dict[str, Any] | None:
        if number in {20, 45}:
            cache.flushall()
        return _draw(users[number % 10], campaign_id, f"{campaign_id} {number}")

    with ThreadPoolExecutor(max_workers=8) as pool:
        drawn = [one for one in pool.map(act, range(80)) if one]
    again = [
        _draw(users[number % 10], campaign_id, f"{campaign_id} {number}") for number in (3, 77)
    ]

    assert [one["draw_id"] for one in again] == [drawn[3]["draw_id"], drawn[77]["draw_id"]]
    assert [one["outcome"] for one in again] == [drawn[3]["outcome"], drawn[77]["outcome"]]
    wins = sum(one["outcome"] == "won" for one in drawn)
    assert wins <= 20
    assert _prizes(sponsor, campaign_id)["phone"]["issued"] == wins
    for user in users:
        assert len(_all_draws(user, campaign_id)) == 8
        assert _refusal(user.draw(campaign_id)) == (403, "attempts_exhausted")


def test_a_preheat_loads_a_lottery(
    sponsor: User, made: Make, a_user: MakeUser, cache: redis.Redis
) -> None:
    campaign_id = made(phone={"total": 1})
    winner = a_user()
    _draw(winner, campaign_id)
    cache.flushall()
    assert not cache.keys(f"*{{draw:{campaign_id}}}*")

    answer = sponsor.http.post(f"/admin/campaigns/{campaign_id}/preheat")

    assert answer.json() == {"packet_count": 0, "loaded_count": 0, "next": None}
    assert cache.keys(f"*{{draw:{campaign_id}}}*")
    assert _draw(a_user(), campaign_id)["prize"] is None


# ---------------------------------------------------------------- cash, and the proof of a day


def test_cash_is_paid_and_leftover_cash_goes_back(
    sponsor: User,
    made: Make,
    a_user: MakeUser,
    invoke: Invoke,
    eventually: Eventually,
    ledger_state: Callable[[], Any],
) -> None:
    campaign_id = made(
        cash={"kind": "packet", "amount_fen": 88, "total": 10},
    )
    assert sponsor.balance_fen() == FUNDS_FEN - 880
    added = _add_stock(sponsor, campaign_id, "cash", 2)
    assert added.json()["total"] == 12
    assert sponsor.balance_fen() == FUNDS_FEN - 1_056
    ann, bob = a_user(), a_user()

    drawn = [_draw(user, campaign_id) for user in (ann, bob, ann)]

    assert [one["prize"]["amount_fen"] for one in drawn] == [88] * 3
    eventually(lambda: (ann.balance_fen(), bob.balance_fen()) == (176, 88))
    received = ann.http.get("/me/received").json()
    assert (received["total_fen"], received["count"]) == (176, 2)
    packet_id = received["items"][0]["packet_id"]
    assert _refusal(bob.grab(packet_id)) == (404, "packet_not_found")

    def is_back() -> bool:
        invoke("ExpireFunction", {"source": "aws.events"})
        return sponsor.balance_fen() == FUNDS_FEN - 3 * 88

    over = _plan(ends_at_ms=_now_ms())
    assert sponsor.http.put(f"/admin/campaigns/{campaign_id}", json=over).is_success
    assert _refusal(bob.draw(campaign_id)) == (409, "campaign_ended")
    eventually(is_back)
    audit = sponsor.http.get(f"/admin/packets/{packet_id}/audit").json()
    assert (audit["ok"], audit["differences"]) == (True, [])
    assert lasting(lambda: ledger_state().differences()) == []


def test_the_seed_of_a_day_is_a_secret_until_the_day_is_over(made: Make, a_user: MakeUser) -> None:
    campaign_id = made({"starts_at_ms": _now_ms() - 72 * HOUR_MS, "timezone": "UTC"}, phone={})
    user = a_user()
    page = user.http.get(f"/campaigns/{campaign_id}").json()
    path = f"/campaigns/{campaign_id}/proof"
    yesterday = time.strftime("%Y%m%d", time.gmtime(time.time() - 24 * 3600))

    today = user.http.get(path, params={"day": page["day"]})
    past = user.http.get(path, params={"day": yesterday})
    long_ago = user.http.get(path, params={"day": "20200101"})

    assert page["day"] == time.strftime("%Y%m%d", time.gmtime())
    assert _refusal(today) == (409, "proof_not_ready")
    assert past.status_code == httpx.codes.OK
    said = past.json()
    assert said.keys() == {
        *("campaign_id", "day", "commitment", "seed", "secret_version"),
        *("beacon", "beacon_round", "signature"),
    }
    assert (said["secret_version"], said["beacon"], said["signature"]) == (1, None, None)
    assert _refusal(long_ago) == (404, "campaign_not_found")
    for day in ("", "2026", "tomorrow", "2026-11-21"):
        assert _refusal(user.http.get(path, params={"day": day})) == (422, "invalid_request")
    assert _refusal(user.http.get(path)) == (422, "invalid_request")
