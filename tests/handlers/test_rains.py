"""A campaign's rains, over HTTP: planned packets that open in the same second."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from redpacket.campaigns.dynamodb import keys
from redpacket.platform.dynamodb.client import to_wire
from testing.in_memory_system import InMemorySystem
from testing.platform.handlers import handlers_of
from testing.platform.users import HttpUser
from tests.handlers.conftest import MakeUser

HOUR_MS = 3_600_000
BUDGET_FEN = 10_000
PATH = "/admin/campaigns/gala/rains"

Plan = Callable[..., dict[str, Any]]


@pytest.fixture
def sponsor(a_user: MakeUser) -> HttpUser:
    """Return an operator with money."""
    return a_user("sponsor", funds_fen=1_000_000, scope="hongbao/admin")


@pytest.fixture
def campaign(system: InMemorySystem, sponsor: HttpUser) -> Callable[..., None]:
    """Return a function that creates or edits the campaign `gala`; a user may take four shares."""

    def put(**changes: Any) -> None:
        now_ms = system.clock.now_ms()
        plan = {
            "title": "红包雨",
            "starts_at_ms": now_ms,
            "ends_at_ms": now_ms + HOUR_MS,
            "budget_fen": BUDGET_FEN,
            "quota_per_user": 4,
            "status": "on",
            **changes,
        }
        answer = sponsor.http.put("/admin/campaigns/gala", json=plan)
        assert answer.is_success, answer.text

    put()
    return put


@pytest.fixture
def plan(system: InMemorySystem, campaign: Callable[..., None]) -> Plan:  # noqa: ARG001
    """Return a factory of request bodies for a rain of two rounds that begins in a minute."""

    def plan(**changes: Any) -> dict[str, Any]:
        starts_at_ms = system.clock.now_ms() + 60_000
        body = {"starts_at_ms": starts_at_ms, "seconds": 20, "rounds": 2, "packets": 2}
        return {**body, "total_fen": 402, "count": 3, **changes}

    return plan


def _rains(user: HttpUser) -> list[dict[str, Any]]:
    rains: list[dict[str, Any]] = user.http.get("/campaigns/gala").json()["rains"]
    return rains


def _podiums(user: HttpUser) -> list[list[tuple[str, int]]]:
    return [
        [(each["nickname"], each["amount_fen"]) for each in shown["podium"]]
        for shown in _rains(user)
    ]


def _left_fen(sponsor: HttpUser) -> int:
    left_fen: int = sponsor.http.get("/admin/campaigns/gala").json()["budget_left_fen"]
    return left_fen


def _until(system: InMemorySystem, at_ms: int) -> None:
    system.pass_time(at_ms - system.clock.now_ms())


def test_users_see_ids_three_seconds_ahead_and_take_one_share_of_each_packet_from_the_start(
    system: InMemorySystem, sponsor: HttpUser, a_user: MakeUser, plan: Plan
) -> None:
    player, body = a_user("player"), plan()
    planned = sponsor.post(PATH, body).json()["rains"]
    first, second = planned
    start_ms = body["starts_at_ms"]

    assert [(each["starts_at_ms"], each["ends_at_ms"]) for each in planned] == [
        (start_ms, start_ms + 20_000),
        (start_ms + 50_000, start_ms + 70_000),
    ]
    _until(system, start_ms - 3_001)
    assert _rains(player) == [{**each, "packets": [], "podium": []} for each in planned]
    assert player.http.get("/campaigns/gala").json()["packets"] == []
    _until(system, start_ms - 3_000)
    assert [shown["packets"] for shown in _rains(player)] == [first["packets"], []]
    early = player.grab(first["packets"][0])
    assert (early.status_code, early.json()["code"]) == (409, "packet_not_started")

    _until(system, start_ms)
    taken = [player.grab(packet_id).status_code for packet_id in first["packets"]]
    too_early = player.grab(second["packets"][0])
    _until(system, second["starts_at_ms"])
    taken += [player.grab(packet_id).status_code for packet_id in second["packets"]]
    late = a_user("late").grab(first["packets"][0])

    assert (taken, too_early.status_code, late.status_code) == ([200] * 4, 409, 410)
    assert _left_fen(sponsor) == BUDGET_FEN - 402


@pytest.mark.parametrize("count", [3, 150])
def test_a_round_ends_on_a_podium_of_the_best_claims_of_all_its_packets(
    system: InMemorySystem, sponsor: HttpUser, a_user: MakeUser, plan: Plan, count: int
) -> None:
    body = plan(count=count, total_fen=8_000)
    first = sponsor.post(PATH, body).json()["rains"][0]
    _until(system, body["starts_at_ms"])
    players = {f"Player {number}": a_user(f"player{number}") for number in range(count)}
    for name, player in players.items():
        player.http.put("/me/profile", json={"nickname": name})
    caught = [
        (name, player.grab(packet_id).json()["amount_fen"])
        for packet_id in first["packets"]
        for name, player in players.items()
    ]
    guest = a_user("guest")

    before = _podiums(guest)
    _until(system, first["ends_at_ms"])
    ended = _podiums(guest)
    system.pass_time(300_000)
    later = _podiums(guest)

    best = sorted((fen for _, fen in caught), reverse=True)[:3]
    assert before == [[], []]
    assert [fen for _, fen in ended[0]] == best
    assert set(ended[0]) <= set(caught)
    assert ended[1] == []
    assert later == [ended[1]]


def test_a_repeat_returns_the_same_rain_and_moves_nothing(
    system: InMemorySystem, sponsor: HttpUser, plan: Plan
) -> None:
    body = plan()

    first = sponsor.post(PATH, body, "one")
    _until(system, body["starts_at_ms"] + HOUR_MS)
    again = sponsor.post(PATH, body, "one")
    reused = sponsor.post(PATH, {**body, "total_fen": 400}, "one")

    assert (first.status_code, again.status_code) == (201, 201)
    assert again.json() == first.json()
    assert (reused.status_code, reused.json()["code"]) == (422, "idempotency_key_reused")


def test_a_repeat_completes_a_rain_that_ran_out_of_money(
    system: InMemorySystem, a_user: MakeUser, sponsor: HttpUser, plan: Plan
) -> None:
    poor, body = a_user("poor", funds_fen=250, scope="hongbao/admin"), plan()

    refused = poor.post(PATH, body, "one")
    hidden = _rains(poor)
    sponsor.post("/admin/deposits", {"user": "poor", "amount_fen": 1_000})
    completed = poor.post(PATH, body, "one")
    system.pass_time(1_000)

    assert (refused.status_code, refused.json()["code"]) == (402, "insufficient_funds")
    assert hidden == []
    assert completed.status_code == 201
    assert len(_rains(poor)) == 2
    # The refused request had funded two of the four packets. None was funded twice.
    assert _left_fen(sponsor) == BUDGET_FEN - 402


def test_a_rain_that_was_not_completed_before_its_start_stays_hidden(
    system: InMemorySystem, a_user: MakeUser, plan: Plan
) -> None:
    poor, body = a_user("poor", funds_fen=250, scope="hongbao/admin"), plan()
    poor.post(PATH, body, "one")

    _until(system, body["starts_at_ms"])
    late = poor.post(PATH, body, "one")

    assert late.json()["errors"] == [{"field": "starts_at_ms", "message": "is in the past"}]
    assert _rains(poor) == []


def test_plans_without_money_hide_no_rain(
    system: InMemorySystem, a_user: MakeUser, sponsor: HttpUser, plan: Plan
) -> None:
    broke, later = a_user("broke", scope="hongbao/operate"), system.clock.now_ms() + 120_000

    refused = {broke.post(PATH, plan()).status_code for _ in range(20)}
    sponsor.post(PATH, plan(starts_at_ms=later))
    system.pass_time(1_000)

    assert refused == {402}
    assert [each["starts_at_ms"] for each in _rains(broke)] == [later, later + 50_000]


def test_no_number_of_rains_hides_another(
    system: InMemorySystem, a_user: MakeUser, sponsor: HttpUser, plan: Plan
) -> None:
    pest, rain = a_user("pest", funds_fen=50, scope="hongbao/operate"), plan(seconds=600)
    start_ms = rain["starts_at_ms"]
    shown = sponsor.post(PATH, rain).json()["rains"]
    a_fen = plan(seconds=5, rounds=1, packets=1, total_fen=1, count=1)

    beside = [pest.post(PATH, a_fen | {"starts_at_ms": start_ms + n}) for n in range(22)]
    spread = [
        pest.post(PATH, a_fen | {"starts_at_ms": start_ms + 20_000 * n}) for n in range(1, 28)
    ]

    assert [answer.status_code for answer in beside] == [201] * 19 + [422] * 3
    assert beside[-1].json()["errors"][0]["field"] == "starts_at_ms"
    assert {answer.status_code for answer in spread} == {422}
    for each in shown:
        _until(system, each["starts_at_ms"])
        assert {**each, "podium": []} in _rains(pest)


@pytest.mark.parametrize("rounds", ["no", "5", '[["a", 2]]', "[[1]]", "[" * 9_000])
def test_a_round_that_can_not_be_read_hides_no_other(
    system: InMemorySystem, sponsor: HttpUser, plan: Plan, rounds: str
) -> None:
    """The send function's role could write an unreadable round among a campaign's packets."""
    (first, _) = sponsor.post(PATH, plan()).json()["rains"]
    junk = to_wire({**keys.rain("gala", f"{first['ends_at_ms']}#0"), "rounds": rounds})
    system.dynamo.put_item(TableName="campaigns", Item=junk)

    assert len(_rains(sponsor)) == 2


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"packets": 3}, "packets"),
        ({"rounds": 5, "packets": None}, "packets"),
        ({"rounds": 10, "packets": 10}, "packets"),
        ({"starts_at_ms": 1}, "starts_at_ms"),
        ({"starts_at_ms": 4_000_000_000_000}, "starts_at_ms"),
        ({"seconds": 4}, "seconds"),
    ],
)
def test_a_rain_that_its_campaign_cannot_give_is_refused_before_any_money_moves(
    sponsor: HttpUser, plan: Plan, changes: dict[str, Any], field: str
) -> None:
    refused = sponsor.post(PATH, plan(**changes))

    assert refused.status_code == httpx.codes.UNPROCESSABLE_ENTITY
    assert refused.json()["errors"][0]["field"] == field
    assert _left_fen(sponsor) == BUDGET_FEN


def test_a_rain_above_the_budget_or_with_an_impossible_split_moves_nothing(
    sponsor: HttpUser, plan: Plan, campaign: Callable[..., None]
) -> None:
    above = sponsor.post(PATH, plan(total_fen=BUDGET_FEN + 1))
    impossible = sponsor.post(PATH, plan(total_fen=11))
    campaign(status="off", version=1)
    paused = sponsor.post(PATH, plan())

    assert (above.status_code, above.json()["code"]) == (402, "insufficient_funds")
    assert (impossible.status_code, impossible.json()["code"]) == (422, "split_impossible")
    assert (paused.status_code, paused.json()["code"]) == (409, "campaign_paused")
    assert _left_fen(sponsor) == BUDGET_FEN


def test_a_round_has_six_packets_or_as_many_as_the_quota_covers(
    sponsor: HttpUser, plan: Plan, campaign: Callable[..., None]
) -> None:
    covered = sponsor.post(PATH, plan(packets=None, rounds=3)).json()["rains"]
    campaign(quota_per_user=0, version=1)
    free = sponsor.post(PATH, plan(packets=None)).json()["rains"]

    assert [len(each["packets"]) for each in covered] == [1, 1, 1]
    assert [len(each["packets"]) for each in free] == [6, 6]


def test_a_rain_above_the_limit_of_an_operator_alone_is_refused_as_a_whole(
    system: InMemorySystem, a_user: MakeUser, sponsor: HttpUser, plan: Plan
) -> None:
    alone = a_user("alone", funds_fen=BUDGET_FEN, scope="hongbao/operate")
    both = a_user("both", funds_fen=BUDGET_FEN, scope="hongbao/operate hongbao/treasury")

    # Each packet counts its largest possible share: 99 of 101 fen, or 98 of 100 fen.
    with handlers_of(system, APPROVAL_FEN=f"393,{10**9},{10**9}"):
        refused = alone.post(PATH, plan())
        moved_fen = BUDGET_FEN - _left_fen(sponsor)
        by_both = [both.post(PATH, plan(**changes)) for changes in ({}, {"count": 10})]
        small = alone.post(PATH, plan(total_fen=400))

    assert (refused.status_code, moved_fen) == (403, 0)
    assert "smaller shares" in refused.json()["detail"]
    # A packet of fewer than ten shares also counts toward the treasury's limit.
    assert [each.status_code for each in by_both] == [403, 201]
    assert small.status_code == 201


def test_only_operators_plan_rains(a_user: MakeUser, plan: Plan) -> None:
    body = plan()

    answers = [
        a_user("guest").post(PATH, body),
        a_user("auditor", scope="hongbao/audit").post(PATH, body),
        a_user("cashier", scope="hongbao/treasury").post(PATH, body),
    ]

    assert [answer.status_code for answer in answers] == [403] * 3
