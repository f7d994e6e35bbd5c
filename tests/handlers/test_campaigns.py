"""Campaigns, their packets and their lotteries, over HTTP; tests/unit tests the rules."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from local.places import ROOT
from redpacket.lottery.model.odds import choose
from testing.in_memory_system import InMemorySystem
from testing.platform.handlers import HandlerTransport, handlers_of
from testing.platform.users import HttpUser
from tests.handlers.conftest import Eventually, Invoke, MakeUser

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
FUNDS_FEN = 1_000_000
PHRASE = "恭喜发财"

Put = Callable[..., httpx.Response]


@pytest.fixture
def sponsor(a_user: MakeUser) -> HttpUser:
    """Return an operator with money."""
    return a_user("sponsor", funds_fen=FUNDS_FEN, scope="hongbao/admin")


@pytest.fixture
def put(system: InMemorySystem, sponsor: HttpUser) -> Put:
    """Return a function that creates or edits a campaign, by default `gala`."""

    def put(campaign_id: str = "gala", **changes: Any) -> httpx.Response:
        now_ms = system.clock.now_ms()
        plan = {
            "title": "抽奖",
            "starts_at_ms": now_ms,
            "ends_at_ms": now_ms + HOUR_MS,
            "miss_weight": 0,
            "passphrase": PHRASE,
            "status": "on",
            **changes,
        }
        return sponsor.http.put(f"/admin/campaigns/{campaign_id}", json=plan)

    return put


def _put_prize(operator: HttpUser, prize_id: str, **changes: Any) -> httpx.Response:
    prize = {"title": prize_id, "kind": "goods", "weight": 1, "total": 10, **changes}
    return operator.http.put(f"/admin/campaigns/gala/prizes/{prize_id}", json=prize)


def _add_stock(operator: HttpUser, prize_id: str, delta: int) -> httpx.Response:
    path = f"/admin/campaigns/gala/prizes/{prize_id}/stock"
    return operator.post(path, {"delta": delta})


def _draw(user: HttpUser, key: str | None = None) -> dict[str, Any]:
    answer = user.draw("gala", key)
    assert answer.status_code == httpx.codes.OK, answer.text
    body: dict[str, Any] = answer.json()
    return body


def _draws(user: HttpUser) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = user.http.get("/campaigns/gala/draws").json()["items"]
    return items


def _refusal(answer: httpx.Response) -> tuple[int, str]:
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    return answer.status_code, answer.json()["code"]


# ---------------------------------------------------------------- campaigns


def test_users_see_neither_money_nor_passphrase_of_a_campaign(
    put: Put, sponsor: HttpUser, a_user: MakeUser
) -> None:
    created = put(budget_fen=10_000, quota_per_user=9)
    edited = put(budget_fen=10_000, title="新年", quota_per_user=3, status="off", version=1)

    stale, early = put(version=1, title="too late"), put("other", version=1)
    seen = a_user().http.get("/campaigns/gala").json()

    assert (created.status_code, edited.status_code) == (201, 200)
    assert (created.json()["version"], edited.json()["version"]) == (1, 2)
    assert created.json()["passphrase"] == PHRASE
    assert sponsor.http.get("/admin/campaigns/gala").json() == edited.json()
    assert _refusal(stale) == _refusal(early) == (409, "version_conflict")
    assert (seen["title"], seen["quota_per_user"], seen["status"]) == ("新年", 3, "off")
    assert (seen["timezone"], seen["when_sold_out"]) == ("Asia/Shanghai", "redistribute")
    hidden = {"passphrase", "budget_fen", "budget_left_fen", "version", "miss_weight"}
    assert not hidden & set(seen)


def test_an_immediate_end_uses_the_clock_of_the_server_and_a_repeat_keeps_it(
    system: InMemorySystem, put: Put
) -> None:
    starts_at_ms = system.clock.now_ms()
    put(starts_at_ms=starts_at_ms)
    system.pass_time(5_000)
    ended_at_ms = system.clock.now_ms()
    asked = {"starts_at_ms": starts_at_ms, "ends_at_ms": starts_at_ms + HOUR_MS, "end_now": True}

    ended = put(**asked, version=1)
    system.pass_time(5_000)
    again = put(**asked, version=1)

    assert (ended.status_code, again.status_code) == (200, 200)
    assert ended.json()["ends_at_ms"] == again.json()["ends_at_ms"] == ended_at_ms
    assert again.json()["version"] == 2


def test_an_immediate_end_before_the_start_is_refused_and_the_error_names_pause(
    system: InMemorySystem, put: Put
) -> None:
    put(starts_at_ms=system.clock.now_ms() + HOUR_MS, ends_at_ms=system.clock.now_ms() + DAY_MS)

    refused = put(
        starts_at_ms=system.clock.now_ms() + HOUR_MS,
        ends_at_ms=system.clock.now_ms() + DAY_MS,
        end_now=True,
    )

    assert _refusal(refused) == (422, "invalid_request")
    assert refused.json()["errors"][0]["field"] == "end_now"
    assert "status to off" in refused.json()["errors"][0]["message"]


def test_anyone_sees_a_campaign_with_its_state_and_probabilities(
    system: InMemorySystem, put: Put, sponsor: HttpUser, a_user: MakeUser
) -> None:
    now_ms = system.clock.now_ms()
    put(status="off", starts_at_ms=now_ms + 20_000, ends_at_ms=now_ms + 40_000, miss_weight=60)
    _put_prize(sponsor, "cup", weight=30, total=1)
    _put_prize(sponsor, "pen", weight=10, total=9, status="off")
    stranger = httpx.Client(base_url="https://api.example", transport=HandlerTransport({}))

    def seen() -> dict[str, Any]:
        system.pass_time(4_000)
        page: dict[str, Any] = stranger.get("/campaigns/gala").json()
        assert page == a_user().http.get("/campaigns/gala").json()
        return page

    assert seen()["code"] == "campaign_not_found"
    edit = {"starts_at_ms": now_ms + 20_000, "ends_at_ms": now_ms + 40_000, "miss_weight": 60}
    put(**edit)
    assert seen()["state"] == "upcoming"
    _put_prize(sponsor, "pen", weight=10, total=9)
    system.pass_time(20_000 - (system.clock.now_ms() - now_ms))
    page = seen()
    assert page["state"] == "on"
    assert [prize["probability"] for prize in page["prizes"]] == [0.3, 0.1]
    put(**edit, status="off")
    assert seen()["state"] == "paused"
    system.pass_time(20_000)
    assert seen()["state"] == "ended"

    answer = stranger.get("/campaigns/gala")
    assert answer.headers["cache-control"] == "public, max-age=1"
    again = stranger.get("/campaigns/gala", headers={"If-None-Match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_unknown_ids_are_not_found(put: Put, sponsor: HttpUser) -> None:
    answers = [
        sponsor.http.get("/campaigns/nowhere"),
        sponsor.http.get("/campaigns/NOWHERE"),
        sponsor.http.get("/campaigns/nowhere/draws"),
        sponsor.http.get("/admin/campaigns/nowhere"),
        sponsor.http.post("/admin/campaigns/nowhere/preheat"),
        put("{rain}"),
        sponsor.send(campaign_id="nowhere"),
        sponsor.draw("nowhere"),
        sponsor.draw("{draw}"),
        sponsor.help("nowhere", sponsor.user_token(), PHRASE),
        _put_prize(sponsor, "pen"),
        _put_prize(sponsor, "Pen"),
        _add_stock(sponsor, "pen", 1),
    ]

    assert {_refusal(answer) for answer in answers} == {(404, "campaign_not_found")}


def test_packets_are_sent_within_the_budget(put: Put, sponsor: HttpUser, a_user: MakeUser) -> None:
    campaign = put(budget_fen=10_000).json()
    poor = a_user(funds_fen=1_000)

    first = sponsor.send("key", campaign_id="gala", total_fen=9_000)
    over = sponsor.send(campaign_id="gala", total_fen=1_001)
    rest = sponsor.send(campaign_id="gala", total_fen=1_000)
    lowered = put(budget_fen=9_999)
    raised = put(budget_fen=20_000)
    put(status="off")
    paused = sponsor.send(campaign_id="gala")
    put(starts_at_ms=1, ends_at_ms=2)
    ended = sponsor.send(campaign_id="gala")

    assert first.status_code == rest.status_code == httpx.codes.CREATED
    assert first.json()["expires_at_ms"] == campaign["ends_at_ms"]
    assert _refusal(poor.send(campaign_id="gala")) == (403, "forbidden")
    assert _refusal(over) == (402, "insufficient_funds")
    assert "budget" in over.json()["detail"]
    assert _refusal(lowered) == (422, "invalid_request")
    assert lowered.json()["errors"][0]["field"] == "budget_fen"
    assert raised.json()["budget_left_fen"] == 10_000
    assert _refusal(paused) == (409, "campaign_paused")
    assert _refusal(ended) == (409, "campaign_ended")
    again = sponsor.send("key", campaign_id="gala", total_fen=9_000)
    assert (again.status_code, again.json()) == (201, first.json())
    assert _refusal(sponsor.send("key", campaign_id="gala")) == (422, "idempotency_key_reused")
    assert sponsor.balance_fen() == FUNDS_FEN - 10_000


def test_a_preheat_loads_before_the_start(
    system: InMemorySystem, put: Put, sponsor: HttpUser, a_user: MakeUser
) -> None:
    starts_at_ms = system.clock.now_ms() + 3_000
    put(budget_fen=10_000, starts_at_ms=starts_at_ms)
    packets = [sponsor.send(campaign_id="gala").json() for _ in range(3)]
    ids = [packet["packet_id"] for packet in packets]
    path = "/admin/campaigns/gala/preheat"
    system.memory.caches.clear()

    first = sponsor.http.post(path)
    rest = sponsor.http.post(path, params={"cursor": min(ids)})

    assert first.status_code == httpx.codes.ACCEPTED
    assert first.json() == {"packet_count": 3, "loaded_count": 3, "next": None}
    assert rest.json() == {"packet_count": 2, "loaded_count": 2, "next": None}
    assert set(ids) <= set(system.memory.caches)
    assert _refusal(sponsor.http.post(path, params={"cursor": "~"})) == (422, "invalid_request")
    claimer = a_user()
    assert packets[0]["starts_at_ms"] == starts_at_ms
    assert _refusal(claimer.grab(ids[0])) == (409, "packet_not_started")
    system.pass_time(3_000)
    assert claimer.grab(ids[0]).status_code == httpx.codes.OK


# ---------------------------------------------------------------- draws


def test_a_winner_sees_how_many_wins_the_rules_still_allow_today(
    put: Put, sponsor: HttpUser, a_user: MakeUser
) -> None:
    put(rules={"wins_per_user_per_day": 2})
    _put_prize(sponsor, "phone", total=9)
    user, other = a_user(), a_user()

    def left_of(user: HttpUser) -> int | None:
        wins_left: int | None = user.http.get("/campaigns/gala/draws").json()["wins_left_today"]
        return wins_left

    before = left_of(user)
    draws = [_draw(user, f"key-{number}") for number in range(3)]
    repeat = _draw(user, "key-0")
    shown = user.http.get("/campaigns/gala").json()

    assert before == 2
    assert [draw["wins_left_today"] for draw in draws] == [1, 0, 0]
    assert [draw["outcome"] for draw in draws] == ["won", "won", "missed"]
    assert repeat["wins_left_today"] == left_of(user) == 0
    assert left_of(other) == 2
    # The public campaign page is the same for all users, so it shows no user's count.
    assert "wins_left_today" not in shown


def test_a_draw_wins_by_its_odds_and_a_repeat_gets_the_same_answer(
    system: InMemorySystem, put: Put, sponsor: HttpUser, a_user: MakeUser
) -> None:
    put(rules={"attempts_per_user_per_day": 3})
    _put_prize(sponsor, "phone", total=2, image_url="https://a.example/1.png")
    user, nobody = a_user(), a_user()

    def left_of(user: HttpUser) -> int | None:
        attempts_left: int | None = user.http.get("/campaigns/gala/draws").json()["attempts_left"]
        return attempts_left

    before = left_of(user)
    first, again = _draw(user, "key"), _draw(user, "key")
    system.pass_time(1)
    other = _draw(user, "another key")
    system.pass_time(1)
    empty = _draw(user)

    assert first == again
    assert (first["outcome"], empty["outcome"], empty["prize"]) == ("won", "missed", None)
    assert first["prize"] == {
        "prize_id": "phone",
        "title": "phone",
        "kind": "goods",
        "amount_fen": None,
        "image_url": "https://a.example/1.png",
    }
    assert [each["attempts_left"] for each in (first, other, empty)] == [2, 1, 0]
    assert (before, left_of(user), left_of(nobody)) == (3, 0, 3)
    assert {each["wins_left_today"] for each in (first, other, empty)} == {None}
    mine = _draws(user)
    assert [item["draw_id"] for item in mine] == [each["draw_id"] for each in (empty, other, first)]
    for item in mine:
        won = item["prize"]["prize_id"] if item["prize"] else None
        assert choose(item["odds"], item["point"]) == won
    assert _draws(nobody) == []
    assert _refusal(user.draw("gala")) == (403, "attempts_exhausted")
    assert _refusal(user.http.post("/campaigns/gala/draws")) == (400, "idempotency_key_missing")
    body = user.post("/campaigns/gala/draws", {"prize_id": "phone"})
    assert _refusal(body) == (422, "invalid_request")


def test_only_its_winner_sees_a_code(
    system: InMemorySystem, put: Put, sponsor: HttpUser, a_user: MakeUser
) -> None:
    put()
    path = "/admin/campaigns/gala/prizes/voucher/codes"
    _put_prize(sponsor, "voucher", kind="code", total=0)
    codes = ["TEA-7KQ2", "TEA-9PLM"]
    added = [sponsor.post(path, {"add": codes[:count]}) for count in (1, 2, 2)]
    ann, bob = a_user(), a_user()

    anns, again, bobs = _draw(ann, "key"), _draw(ann, "key"), _draw(bob)

    assert [answer.json()["total"] for answer in added] == [1, 2, 2]
    assert anns == again
    assert [anns["code"], bobs["code"]] == codes
    assert [[item["code"] for item in _draws(user)] for user in (ann, bob)] == [
        codes[:1],
        codes[1:],
    ]
    empty = _draw(a_user())
    assert (empty["outcome"], empty["code"]) == ("missed", None)
    # Operators see who won, but no codes. Other pages and the logs contain no codes either.
    gala = "/admin/campaigns/gala"
    shown = [sponsor.http.get(path).text for path in (f"{gala}/winners", gala)]
    shown += [answer.text for answer in added]
    shown += [sponsor.http.get("/admin/journal").text, a_user().http.get("/campaigns/gala").text]
    shown += [str(system.logger.lines), str(system.queue.refs)]
    tables = system.dynamo.tables.items()
    shown += [str(dict(table)) for name, table in tables if name != "codes"]
    assert not [text for text in shown if "TEA-" in text]
    assert "voucher.1" in shown[0]


def test_an_erased_user_sees_no_earlier_code(
    system: InMemorySystem, put: Put, sponsor: HttpUser, a_user: MakeUser
) -> None:
    put(rules={"attempts_per_user_per_day": 9})
    _put_prize(sponsor, "voucher", kind="code", total=0)
    path = "/admin/campaigns/gala/prizes/voucher/codes"
    sponsor.post(path, {"add": ["TEA-1", "TEA-2"]})
    user = a_user()
    _draw(user, "key")

    assert sponsor.http.delete(f"/admin/users/{user.host_id}").is_success
    system.pass_time(1_000)
    repeated, after = _draw(user, "key"), _draw(user)

    assert (repeated["outcome"], repeated["code"], after["code"]) == ("won", None, "TEA-2")
    assert [item["code"] for item in _draws(user)] == ["TEA-2", None]


def test_errors_in_codes_are_reported(put: Put, sponsor: HttpUser) -> None:
    put()
    path = "/admin/campaigns/gala/prizes/{}/codes"
    early = _put_prize(sponsor, "voucher", kind="code", total=1)
    assert _refusal(early) == (422, "invalid_request")
    assert _refusal(sponsor.post(path.format("voucher"), {"add": ["A"]})) == (
        404,
        "campaign_not_found",
    )
    _put_prize(sponsor, "voucher", kind="code", total=0)
    _put_prize(sponsor, "cup")

    for prize_id, add in (
        ("cup", ["A"]),
        ("voucher", []),
        ("voucher", ["A", "A"]),
        ("voucher", ["A", " B"]),
        ("voucher", ["A\nB"]),
        ("voucher", ["A" * 101]),
        ("voucher", [f"{number}" for number in range(501)]),
    ):
        answer = sponsor.post(path.format(prize_id), {"add": add})
        assert _refusal(answer) == (422, "invalid_request"), add
    assert _refusal(_add_stock(sponsor, "voucher", 1)) == (422, "invalid_request")
    # One call can add the maximum number of codes, even if each has the maximum length.
    longest = [f"{number:0100d}" for number in range(500)]
    assert sponsor.post(path.format("voucher"), {"add": longest}).json()["total"] == 500


@pytest.mark.parametrize(
    ("plan", "code"),
    [
        ({"status": "off"}, "campaign_paused"),
        ({"starts_at_ms": 2 * 10**12, "ends_at_ms": 2 * 10**12 + 1}, "campaign_not_started"),
        ({"starts_at_ms": 1, "ends_at_ms": 2}, "campaign_ended"),
    ],
)
def test_a_draw_outside_the_window_is_refused(
    put: Put, sponsor: HttpUser, a_user: MakeUser, plan: dict[str, Any], code: str
) -> None:
    put(**plan)
    _put_prize(sponsor, "phone")
    user, friend = a_user(), a_user()

    assert _refusal(user.draw("gala")) == (409, code)
    assert _refusal(friend.help("gala", user.user_token(), PHRASE)) == (409, code)


def test_a_user_who_draws_too_fast_must_wait(put: Put, sponsor: HttpUser, a_user: MakeUser) -> None:
    put()
    _put_prize(sponsor, "phone", total=100)
    user = a_user()

    answers = [user.draw("gala") for _ in range(25)]

    limited = [answer for answer in answers if answer.status_code == 429]
    assert {_refusal(answer) for answer in limited} == {(429, "rate_limited")}
    assert {answer.headers["retry-after"] for answer in limited} == {"1"}
    assert len(answers) - len(limited) == len(_draws(user)) == 20


def test_while_draws_are_off_draws_are_refused_and_nothing_is_lost(
    system: InMemorySystem, put: Put, sponsor: HttpUser, a_user: MakeUser
) -> None:
    put(rules={"attempts_per_user_per_day": 1})
    _put_prize(sponsor, "phone")
    user, friend = a_user(), a_user()

    sponsor.http.put("/admin/switches/draw", json={"on": False, "reason": "drill"})
    system.pass_time(10_000)
    off, no_help = user.draw("gala", "key"), friend.help("gala", user.user_token(), PHRASE)
    sponsor.http.put("/admin/switches/draw", json={"on": True})
    system.pass_time(10_000)

    assert _refusal(off) == _refusal(no_help) == (503, "switched_off")
    assert off.headers["retry-after"] == "10"
    assert _draw(user, "key")["attempts_left"] == 0


def test_each_friend_gives_one_attempt_and_the_daily_number_is_limited(
    put: Put, sponsor: HttpUser, a_user: MakeUser
) -> None:
    put(rules={"attempts_per_user_per_day": 1, "helps_per_user_per_day": 2})
    _put_prize(sponsor, "phone")
    sharer, *friends = [a_user() for _ in range(5)]
    token = sharer.user_token()
    assert _draw(sharer)["attempts_left"] == 0

    misheard = friends[0].help("gala", token, "恭喜发才！")
    again = friends[0].help("gala", token, PHRASE)
    second = friends[1].help("gala", token, PHRASE)

    assert misheard.json() == {"outcome": "helped", "attempts_left_of_inviter": 1}
    assert again.json() == {"outcome": "already_helped", "attempts_left_of_inviter": 1}
    assert second.json() == {"outcome": "helped", "attempts_left_of_inviter": 2}
    assert _refusal(friends[2].help("gala", token, PHRASE)) == (403, "help_quota_exhausted")
    assert [_draw(sharer)["attempts_left"] for _ in range(2)] == [1, 0]
    assert _refusal(sharer.help("gala", token, PHRASE)) == (403, "self_help")
    nobody = friends[3].help("gala", token[:-4] + "AAAA", PHRASE)
    assert _refusal(nobody) == (422, "invalid_request")
    tries = [_refusal(friends[3].help("gala", token, "什么")) for _ in range(7)]
    assert (tries[0], tries[-1]) == ((403, "passphrase_mismatch"), (429, "rate_limited"))


# ---------------------------------------------------------------- prizes


def test_users_see_prizes_but_neither_stock_nor_weights_of_disabled_ones(
    put: Put, sponsor: HttpUser, a_user: MakeUser
) -> None:
    put()
    _put_prize(sponsor, "phone", attributes={"colour": "red", "gb": 256}, total=1)
    _put_prize(sponsor, "secret", status="off", weight=9)
    user = a_user()

    before = user.http.get("/campaigns/gala").json()
    _draw(user)

    phone, secret = before["prizes"]
    assert phone["attributes"] == {"colour": "red", "gb": 256}
    assert (phone["weight"], secret["weight"], phone["is_sold_out"]) == (1, None, False)
    assert not {"total", "issued", "version", "per_day"} & set(phone)
    assert len(before["commitment"]) == 64
    watched = sponsor.http.get("/admin/campaigns/gala").json()["prizes"]
    assert (watched[1]["weight"], watched[1]["status"]) == (9, "off")
    assert (watched[0]["issued"], watched[0]["is_sold_out"]) == (1, True)


def test_errors_in_a_prize_are_reported(put: Put, sponsor: HttpUser) -> None:
    put()
    _put_prize(sponsor, "phone")
    _put_prize(sponsor, "cash", kind="packet", amount_fen=100, total=2)

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
        answer = _put_prize(sponsor, prize_id, **changes)
        assert _refusal(answer) == (422, "invalid_request"), (prize_id, changes)
        assert field in [error["field"] for error in answer.json()["errors"]], answer.text
    sponsor.send(total_fen=1_000)
    poor = _put_prize(sponsor, "rich", kind="packet", amount_fen=19_990, total=50)
    assert _refusal(poor) == (402, "insufficient_funds")
    stale = _put_prize(sponsor, "phone", version=7)
    assert _refusal(stale) == (409, "version_conflict")
    moved = put(timezone="UTC")
    assert _refusal(moved) == (422, "invalid_request")
    assert [error["field"] for error in moved.json()["errors"]] == ["timezone"]
    assert sponsor.balance_fen() == FUNDS_FEN - 1_200


def test_edits_during_draws_apply_at_once_and_stock_moves_by_deltas(
    put: Put, sponsor: HttpUser, a_user: MakeUser
) -> None:
    put()
    _put_prize(sponsor, "phone", total=2)
    _put_prize(sponsor, "pen", total=5, status="off")
    user = a_user()
    assert _draw(user)["prize"]["prize_id"] == "phone"

    more = _add_stock(sponsor, "phone", 1)
    assert (more.json()["total"], more.json()["issued"]) == (3, 1)
    assert _put_prize(sponsor, "phone", total=3, weight=0).is_success
    assert _put_prize(sponsor, "pen", total=5, title="笔").is_success
    assert _draw(user)["prize"]["title"] == "笔"
    assert _put_prize(sponsor, "phone", total=3).is_success
    assert _put_prize(sponsor, "pen", total=5, status="off").is_success
    assert [_draw(user)["prize"] is None for _ in range(3)] == [False, False, True]
    assert _refusal(_add_stock(sponsor, "phone", -1)) == (422, "invalid_request")
    less = _add_stock(sponsor, "pen", -4)
    assert (less.json()["total"], less.json()["issued"]) == (1, 1)


def test_cash_is_paid_and_leftover_cash_is_refunded(
    system: InMemorySystem,
    put: Put,
    sponsor: HttpUser,
    a_user: MakeUser,
    invoke: Invoke,
    eventually: Eventually,
) -> None:
    put()
    _put_prize(sponsor, "cash", kind="packet", amount_fen=88, total=10)
    assert _add_stock(sponsor, "cash", 2).json()["total"] == 12
    assert sponsor.balance_fen() == FUNDS_FEN - 1_056
    ann, bob = a_user(), a_user()

    draws = [_draw(user) for user in (ann, bob, ann)]
    system.settle()

    assert [draw["prize"]["amount_fen"] for draw in draws] == [88] * 3
    assert (ann.balance_fen(), bob.balance_fen()) == (176, 88)
    received = ann.http.get("/me/received").json()
    assert (received["total_fen"], received["count"]) == (176, 2)
    named = {(item["campaign_id"], item["prize_id"]) for item in received["items"]}
    assert named == {("gala", "cash")}
    packet_id = received["items"][0]["packet_id"]
    assert _refusal(bob.grab(packet_id)) == (404, "packet_not_found")

    def others_are_hidden() -> None:
        """Check that a winner sees only their own claims, and neither other winners nor the
        stock.
        """
        packet = f"/packets/{packet_id}"
        for user, count in ((ann, 2), (bob, 1)):
            record = user.http.get(packet).json()
            assert (record["count"], record["total_fen"]) == (count, count * 88)
            assert {each["user_token"] for each in record["claims"]} == {user.user_token()}
            assert (len(record["claims"]), record["remaining_count"]) == (count, 0)
        assert _refusal(a_user().http.get(packet)) == (404, "packet_not_found")

    others_are_hidden()

    def is_back() -> bool:
        invoke("ExpireFunction", {"source": "aws.events"})
        return sponsor.balance_fen() == FUNDS_FEN - 3 * 88

    assert put(ends_at_ms=system.clock.now_ms() + 1).is_success
    system.pass_time(1)
    assert _refusal(bob.draw("gala")) == (409, "campaign_ended")
    eventually(is_back)
    others_are_hidden()
    audit = sponsor.http.get(f"/admin/packets/{packet_id}/audit").json()
    assert (audit["ok"], audit["differences"]) == (True, [])


def test_the_seed_of_a_day_is_secret_until_the_day_is_over(
    system: InMemorySystem, put: Put, sponsor: HttpUser, a_user: MakeUser
) -> None:
    now_ms = system.clock.now_ms()
    put(starts_at_ms=now_ms - 72 * HOUR_MS, timezone="UTC")
    _put_prize(sponsor, "phone")
    user = a_user()
    page = user.http.get("/campaigns/gala").json()

    def proof(**query: str) -> httpx.Response:
        return user.http.get("/campaigns/gala/proof", params=query)

    def day(at_ms: int) -> str:
        return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y%m%d")

    assert page["day"] == day(now_ms)
    assert _refusal(proof(day=page["day"])) == (409, "proof_not_ready")
    past = proof(day=day(now_ms - 24 * HOUR_MS))
    assert past.status_code == httpx.codes.OK
    assert past.json()["secret_version"] == 1
    assert _refusal(proof(day="20200101")) == (404, "campaign_not_found")
    for wrong in ({}, {"day": ""}, {"day": "2026"}, {"day": "2026-11-21"}):
        assert _refusal(proof(**wrong)) == (422, "invalid_request")


def test_draws_of_a_campaign_use_no_outside_source(put: Put) -> None:
    for name, source in (("draw_beacon", "day"), ("beacon", "none"), ("beacon", None)):
        refused = put(**{name: source})

        assert _refusal(refused) == (422, "invalid_request")
        assert [error["field"] for error in refused.json()["errors"]] == [name]
    assert [put(draw_beacon=kind).status_code for kind in ("none", None)] == [201, 200]


# ---------------------------------------------------------------- packets when the window is edited


def test_the_answer_to_an_edit_counts_the_packets_that_stay_closed(
    system: InMemorySystem, put: Put, sponsor: HttpUser, a_user: MakeUser
) -> None:
    created = put(budget_fen=3_000).json()
    rain: dict[str, Any] = {"campaign_id": "gala", "total_fen": 1_000}
    changes: list[dict[str, Any]] = [{"count": 1}, {"expires_in_s": 60}, {}]
    emptied, ended, opened = (
        sponsor.send(**{**rain, **change}).json()["packet_id"] for change in changes
    )
    assert a_user().grab(emptied).status_code == httpx.codes.OK
    system.settle()
    system.pass_time(61_000)
    system.sweep()

    edited = put(ends_at_ms=system.clock.now_ms() + 2 * HOUR_MS).json()

    assert (created["closed_packets"], edited["closed_packets"]) == (None, 1)
    system.sweep()
    statuses = [sponsor.record(packet_id)["status"] for packet_id in (emptied, ended, opened)]
    assert statuses == ["emptied", "closed", "open"]
    assert sponsor.record(opened)["expires_at_ms"] == edited["ends_at_ms"]


def test_a_campaign_that_starts_earlier_shows_its_packets_before_their_rows_follow(
    system: InMemorySystem, put: Put, sponsor: HttpUser, a_user: MakeUser
) -> None:
    put(budget_fen=1_000, starts_at_ms=system.clock.now_ms() + HOUR_MS // 2)
    packet_id = sponsor.send(campaign_id="gala").json()["packet_id"]
    user = a_user()
    early = user.grab(packet_id)

    put(budget_fen=1_000, starts_at_ms=system.clock.now_ms())
    system.pass_time(5_000)

    assert (early.status_code, early.json()["code"]) == (409, "packet_not_started")
    shown = user.http.get("/campaigns/gala").json()
    assert [packet["packet_id"] for packet in shown["packets"]] == [packet_id]
    assert user.grab(packet_id).status_code == httpx.codes.OK


# ---------------------------------------------------------------- packets for chosen recipients


@pytest.mark.parametrize("scope", ["hongbao/admin", "hongbao/operate hongbao/treasury"])
def test_recipients_get_no_more_than_the_limit_from_one_sender(
    put: Put, system: InMemorySystem, a_user: MakeUser, scope: str
) -> None:
    assert put(budget_fen=10_000).is_success
    alone, friends = a_user("alone", funds_fen=10_000, scope=scope), [a_user(), a_user()]
    packet = {"kind": "equal", "total_fen": 120, "count": 2, "campaign_id": "gala"}
    chosen = {**packet, "recipients": [friend.user_id for friend in friends]}

    with handlers_of(system, APPROVAL_FEN=f"200,{10**9},{10**9}"):
        answers = [alone.post("/admin/packets", chosen, key) for key in ("1", "2", "1")]
        secret = {**packet, "count": 1, "passphrase": "only my friend"}
        few = [
            alone.post("/admin/packets", each, key) for each, key in ((packet, "3"), (secret, "4"))
        ]
        many = {**packet, "count": 10}
        public = [alone.post("/admin/packets", many, key) for key in ("5", "6", "7", "8")]

    assert [answer.status_code for answer in answers] == [201, 403, 201]
    assert "another operator can approve" in answers[1].json()["detail"]
    # The packets count 120 and 60 fen, within the limit of 200. Another share of 120 fen exceeds
    # the limit.
    assert [answer.status_code for answer in few] == [201, 403]
    # The treasury's packets with ten or more shares do not count toward the limit.
    assert [answer.status_code for answer in public] == [201] * 4


def test_concurrent_packets_of_one_operator_are_both_sent(
    put: Put, system: InMemorySystem, a_user: MakeUser
) -> None:
    assert put(budget_fen=10_000).is_success
    operator = a_user("ope", funds_fen=10_000, scope="hongbao/operate")
    answers: list[httpx.Response] = []

    def send(key: str) -> None:
        packet = {"kind": "equal", "total_fen": 30, "count": 1, "campaign_id": "gala"}
        answers.append(operator.post("/admin/packets", packet, key))

    system.before_first_transaction(lambda _: send("other"))
    with handlers_of(system, APPROVAL_FEN=f"100,{10**9},{10**9}"):
        for key in ("mine", "third", "fourth"):
            send(key)

    assert [answer.status_code for answer in answers] == [201, 201, 201, 403]


def test_chosen_recipients_get_no_more_than_the_limit_without_the_treasury(
    put: Put, system: InMemorySystem, sponsor: HttpUser, a_user: MakeUser
) -> None:
    assert put(budget_fen=10_000).is_success
    only_operate = a_user("ope", funds_fen=10_000, scope="hongbao/operate")
    both = a_user("ope2", funds_fen=100, scope="hongbao/operate hongbao/treasury")

    def send(operator: HttpUser, key: str, **changes: Any) -> httpx.Response:
        packet = {"kind": "equal", "total_fen": 60, "count": 1, "campaign_id": "gala", **changes}
        return operator.post("/admin/packets", packet, key)

    with handlers_of(system, APPROVAL_FEN=f"100,{10**9},{10**9}"):
        first = send(only_operate, "first")
        above = [
            send(only_operate, "few", count=9, total_fen=540),
            send(only_operate, "many", count=60, total_fen=3_600),
            send(only_operate, "secret", count=60, total_fen=3_600, passphrase="only my friend"),
            send(only_operate, "lucky", count=60, total_fen=100, kind="lucky"),
        ]
        below = send(only_operate, "below", count=9, total_fen=360)
        repeat = send(only_operate, "first")
        by_both = send(both, "few of both", recipients=[sponsor.user_id])
        items = sponsor.http.get("/admin/journal?subject=campaign:gala").json()["items"]

    assert [answer.status_code for answer in above] == [403] * 4
    assert "smaller shares" in above[0].json()["detail"]
    # Each equal packet counts one share: 60 fen and then 40 fen, which reach the limit of 100.
    assert (below.status_code, by_both.status_code) == (201, 201)
    # I10: a retry gets the first response.
    assert repeat.json()["packet_id"] == first.json()["packet_id"]
    sent = [item["summary"] for item in items if item["action"] == "packet_sent"]
    told = "ope sent a packet of ¥0.60 in 1 shares without a passphrase"
    assert f"{told} for campaign gala" in sent
    told = told.replace("ope", "ope2", 1)
    assert f"{told} to 1 chosen recipient for campaign gala" in sent


def test_packets_that_end_early_and_repeats_stay_within_the_limit(
    put: Put, system: InMemorySystem, a_user: MakeUser
) -> None:
    assert put(budget_fen=10_000).is_success
    operator, accomplice = a_user("ope", funds_fen=10_000, scope="hongbao/operate"), a_user("acc")
    before_fen = accomplice.balance_fen()
    packet = {"kind": "equal", "total_fen": 600, "count": 10, "campaign_id": "gala"}

    with handlers_of(system, APPROVAL_FEN=f"100,{10**9},{10**9}"):
        first = operator.post("/admin/packets", packet)
        accomplice.grab(first.json()["packet_id"])
        path = f"/admin/packets/{first.json()['packet_id']}/end"
        ended = operator.post(path, {"reason": "wrong title"})
        system.settle()
        again = operator.post("/admin/packets", packet)
        taken_fen = accomplice.balance_fen() - before_fen

    assert (first.status_code, ended.status_code, again.status_code) == (201, 202, 403)
    assert taken_fen == 60


def test_the_passphrase_of_a_campaign_is_for_helpers_as_its_hint_says(
    put: Put, sponsor: HttpUser, a_user: MakeUser
) -> None:
    words = (ROOT / "web" / "src" / "operator" / "words.ts").read_text()
    put(budget_fen=1_000, rules={"attempts_per_user_per_day": 1}, passphrase=PHRASE)
    _put_prize(sponsor, "tea")
    sent = sponsor.send(campaign_id="gala")
    guest, friend = a_user("guest"), a_user("friend")

    without = [guest.grab(sent.json()["packet_id"]).status_code, guest.draw("gala").status_code]
    wrong = friend.help("gala", guest.user_id, "not the phrase")
    helped = friend.help("gala", guest.user_id, PHRASE)

    assert "抢红包和抽奖都不用口令" in words
    assert without == [200, 200]
    assert "朋友说对了，分享者多抽一次" in words
    assert (wrong.is_success, helped.json()["attempts_left_of_inviter"]) == (False, 1)
