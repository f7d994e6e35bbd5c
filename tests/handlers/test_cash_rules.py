"""Rules that decide which users win a lottery's cash: the treasury approves rules and cash
together.
"""

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from redpacket.lottery.dynamodb.prizes import DynamoPrizes
from testing.in_memory_system import InMemorySystem
from testing.platform.handlers import handlers_of
from testing.platform.users import HttpUser
from tests.handlers.conftest import MakeUser

HOUR_MS = 3_600_000
CASH = {"title": "cash", "kind": "packet", "weight": 10, "total": 20, "amount_fen": 20_000}
CUP = {"title": "cup", "kind": "goods", "weight": 10, "total": 5}

Edit = Callable[[HttpUser], httpx.Response]


@pytest.fixture
def operate(a_user: MakeUser) -> HttpUser:
    return a_user("ope", scope="hongbao/operate")


@pytest.fixture
def treasury(a_user: MakeUser) -> HttpUser:
    return a_user("tre", funds_fen=1_000_000, scope="hongbao/treasury")


@pytest.fixture
def second(a_user: MakeUser) -> HttpUser:
    return a_user("second", scope="hongbao/admin")


@pytest.fixture
def plan(system: InMemorySystem) -> dict[str, Any]:
    now_ms = system.clock.now_ms()
    times = {"starts_at_ms": now_ms + 1_000, "ends_at_ms": now_ms + HOUR_MS}
    rules = {"attempts_per_user_per_day": 3, "wins_per_user_per_day": 1}
    return {"title": "Gala", "status": "on", "miss_weight": 90, "rules": rules, **times}


@pytest.fixture(autouse=True)
def campaign(operate: HttpUser, plan: dict[str, Any]) -> None:
    assert _campaign(operate, plan).is_success
    assert _prize(operate, "cup", CUP).is_success


def _campaign(by: HttpUser, plan: dict[str, Any], **changes: Any) -> httpx.Response:
    return by.http.put("/admin/campaigns/gala", json={**plan, **changes})


def _prize(by: HttpUser, prize_id: str, prize: dict[str, Any], **changes: Any) -> httpx.Response:
    return by.http.put(f"/admin/campaigns/gala/prizes/{prize_id}", json={**prize, **changes})


def _stock(by: HttpUser, prize_id: str, delta: int) -> httpx.Response:
    return by.post(f"/admin/campaigns/gala/prizes/{prize_id}/stock", {"delta": delta})


def _audience(by: HttpUser, **body: Any) -> httpx.Response:
    return by.post("/admin/campaigns/gala/audience", body)


def _decide(by: HttpUser, unit: str, status: str) -> httpx.Response:
    return by.http.put(f"/admin/campaigns/gala/winners/{unit}", json={"status": status})


DECIDING: dict[str, Callable[[HttpUser, dict[str, Any]], httpx.Response]] = {
    "a certain win": lambda by, plan: _campaign(by, plan, miss_weight=0),
    "no limits": lambda by, plan: _campaign(by, plan, rules={}),
    "one claim": lambda by, plan: _campaign(by, plan, required_claims={"sub": ["accomplice"]}),
    "a word": lambda by, plan: _campaign(by, plan, passphrase="ours"),
    "a quota": lambda by, plan: _campaign(by, plan, quota_per_user=1),
    "the weight": lambda by, plan: _campaign(by, plan, when_sold_out="miss"),
    "the window": lambda by, plan: _campaign(by, plan, ends_at_ms=plan["ends_at_ms"] + 1),
    "more weight": lambda by, _: _prize(by, "cash", CASH, weight=10**6),
    "more wins": lambda by, _: _prize(by, "cash", CASH, once_per_user=True),
    "a day": lambda by, _: _prize(by, "cash", CASH, per_day=1),
    "other weights": lambda by, _: _prize(by, "cup", CUP, weight=0),
    "no other prize": lambda by, _: _prize(by, "cup", CUP, status="off"),
    "no goods": lambda by, _: _stock(by, "cup", -5),
    "more goods": lambda by, _: _stock(by, "cup", 5),
    "other goods": lambda by, _: _prize(by, "mug", CUP),
    "a list": lambda by, _: _audience(by, add=["accomplice"], mode="allow"),
    "others": lambda by, _: _audience(by, add=["honest"]),
}
OTHERS: dict[str, Callable[[HttpUser, dict[str, Any]], httpx.Response]] = {
    "words": lambda by, plan: _campaign(by, plan, title="New", description="New"),
    "a pause": lambda by, plan: _campaign(by, plan, status="off"),
    "words of a prize": lambda by, _: _prize(by, "cash", CASH, title="money"),
    "no cash": lambda by, _: _prize(by, "cash", CASH, status="off"),
}


@pytest.mark.parametrize("edit", DECIDING.values(), ids=DECIDING.keys())
def test_rules_about_cash_winners_cannot_change_without_the_treasury(
    operate: HttpUser, treasury: HttpUser, second: HttpUser, plan: dict[str, Any], edit: Any
) -> None:
    assert _prize(treasury, "cash", CASH).is_success

    refused = edit(operate, plan)

    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    assert "hongbao/treasury" in refused.json()["detail"]
    assert edit(second, plan).is_success


@pytest.mark.parametrize("edit", DECIDING.values(), ids=DECIDING.keys())
def test_a_lottery_without_cash_needs_no_treasury(
    operate: HttpUser, plan: dict[str, Any], edit: Any
) -> None:
    plan["description"] = "goods only"
    assert _prize(operate, "cash", CUP).is_success
    goods = {key: CASH[key] for key in ("weight",)}

    answer = edit(operate, plan)

    assert goods
    assert answer.is_success or answer.json()["code"] == "invalid_request"


@pytest.mark.parametrize("edit", OTHERS.values(), ids=OTHERS.keys())
def test_texts_and_pauses_need_no_treasury(
    operate: HttpUser, treasury: HttpUser, plan: dict[str, Any], edit: Any
) -> None:
    assert _prize(treasury, "cash", CASH).is_success

    assert edit(operate, plan).is_success


def test_cash_that_the_operate_role_turned_off_is_turned_on_by_the_treasury(
    operate: HttpUser, treasury: HttpUser, second: HttpUser
) -> None:
    assert _prize(treasury, "cash", CASH).is_success
    assert _prize(operate, "cash", CASH, status="off").is_success

    refused = _prize(operate, "cash", CASH)

    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    assert _prize(second, "cash", CASH).is_success


def test_codes_and_forfeited_goods_beside_cash_need_the_treasury(
    system: InMemorySystem,
    operate: HttpUser,
    treasury: HttpUser,
    plan: dict[str, Any],
    a_user: MakeUser,
) -> None:
    assert _campaign(operate, plan, miss_weight=0).is_success
    code = {"title": "code", "kind": "code", "weight": 1, "total": 0}
    assert _prize(operate, "code", code).is_success
    system.pass_time(10_000)
    ann = a_user("ann")
    assert ann.draw("gala").json()["prize"]["prize_id"] == "cup"
    assert _prize(treasury, "cash", CASH).is_success
    unit = operate.http.get("/admin/campaigns/gala/winners").json()["items"][0]["unit"]

    refused = [
        operate.post("/admin/campaigns/gala/prizes/code/codes", {"add": ["A1"]}),
        _decide(operate, unit, "forfeited"),
    ]

    assert [each.status_code for each in refused] == [403, 403]
    assert _decide(operate, unit, "handed_over").is_success


# ---------------------------------------------------------------- pending requests


WAITING: dict[str, Callable[[HttpUser, dict[str, Any]], httpx.Response]] = {
    **DECIDING,
    "a member less": lambda by, _: _audience(by, remove=["staff"], add=["accomplice"]),
}


@pytest.mark.parametrize(
    "case",
    [
        *("one claim", "a list", "no limits", "the window", "a member less"),
        *("other weights", "no other prize", "no goods", "more goods", "other goods"),
    ],
)
def test_pending_cash_is_refused_after_its_rules_changed(
    system: InMemorySystem,
    operate: HttpUser,
    treasury: HttpUser,
    second: HttpUser,
    plan: dict[str, Any],
    case: str,
) -> None:
    assert _audience(operate, add=["staff"]).is_success
    with handlers_of(system, APPROVAL_FEN="10000,10000,10000"):
        asked = _prize(treasury, "cash", CASH)
        shown = second.http.get("/admin/approvals").json()["items"][0]["changes"]
        assert WAITING[case](operate, plan).is_success

        approved = second.approve(asked)

    assert asked.status_code == 202
    told = {change["field"]: change["after"] for change in shown}
    assert told["audience_mode"] is None
    assert told["audience_size"] == "1"
    assert '"cup":{' in told["prizes"]
    assert told["required_claims"] == "[]"
    assert told["miss_weight"] == "90"
    assert (approved.status_code, approved.json()["code"]) == (409, "version_conflict")
    assert system.balance_fen(treasury.user_id) == 1_000_000


def test_a_list_cannot_be_edited_while_cash_is_being_added(
    system: InMemorySystem, operate: HttpUser, treasury: HttpUser
) -> None:
    system.before_first_transaction(lambda _: _prize(treasury, "cash", CASH))

    with handlers_of(system):
        refused = [_audience(operate, add=["accomplice"]) for _ in range(2)]

    assert [each.status_code for each in refused] == [503, 403]
    assert system.audience_rows.edit("gala", [], []) == 0


def test_a_pending_budget_is_refused_after_the_mode_of_the_list_changed(
    system: InMemorySystem,
    operate: HttpUser,
    treasury: HttpUser,
    second: HttpUser,
    plan: dict[str, Any],
) -> None:
    with handlers_of(system, APPROVAL_FEN="10000,10000,10000"):
        asked = _campaign(treasury, plan, budget_fen=200_000)
        assert _audience(operate, add=["accomplice"], mode="allow").is_success

        approved = second.approve(asked)
        system.pass_time(1)
        again = _campaign(treasury, plan, budget_fen=200_000)
        shown = second.http.get("/admin/approvals").json()["items"][0]["changes"]
        applied = second.approve(again)

    assert (approved.status_code, approved.json()["code"]) == (409, "version_conflict")
    told = {change["field"]: change["after"] for change in shown}
    assert told["audience_mode"] == "allow"
    assert applied.json()["is_applied"]
    stored = system.campaigns.find_campaign("gala")
    assert stored
    assert stored.budget_fen == 200_000


def test_cash_is_approved_after_texts_changed(
    system: InMemorySystem,
    operate: HttpUser,
    treasury: HttpUser,
    second: HttpUser,
    plan: dict[str, Any],
) -> None:
    with handlers_of(system, APPROVAL_FEN="10000,10000,10000"):
        asked = _prize(treasury, "cash", CASH)
        assert _campaign(operate, plan, title="New").is_success

        approved = second.approve(asked)

    assert approved.json()["is_applied"]


def test_of_two_requests_for_cash_each_waits_for_the_odds_of_the_other(
    system: InMemorySystem, treasury: HttpUser, second: HttpUser
) -> None:
    with handlers_of(system, APPROVAL_FEN="10000,10000,10000"):
        asked = [_prize(treasury, name, CASH) for name in ("cash", "more")]

        approved = [second.approve(each) for each in asked]

    assert [each.status_code for each in approved] == [200, 409]


def test_odds_of_cash_without_units_need_the_treasury_and_are_shown_with_its_first_stock(
    system: InMemorySystem, operate: HttpUser, treasury: HttpUser, second: HttpUser
) -> None:
    with handlers_of(system, APPROVAL_FEN="10000,10000,10000"):
        assert _prize(treasury, "cash", CASH, total=0).is_success

        refused = _prize(operate, "cash", CASH, total=0, weight=10**6)
        asked = _stock(treasury, "cash", 20)
        shown = second.http.get("/admin/approvals").json()["items"][0]["changes"]
        approved = second.approve(asked)

    odds = json.loads(next(each["after"] for each in shown if each["field"] == "prizes"))
    assert (refused.status_code, approved.status_code) == (403, 200)
    assert (odds["cash"]["weight"], odds["cash"]["amount_fen"]) == (10, 20_000)


@pytest.mark.parametrize(("edited", "approved_status"), [("rules", 409), ("odds", 200)])
def test_approved_money_backs_only_the_approved_odds(
    system: InMemorySystem,
    operate: HttpUser,
    treasury: HttpUser,
    second: HttpUser,
    plan: dict[str, Any],
    edited: str,
    approved_status: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written, answers = DynamoPrizes.put_prize, list[httpx.Response]()
    odds = {"weight": 10**6} if edited == "odds" else {}

    def overtaken(self: DynamoPrizes, *args: Any, **given: Any) -> Any:
        monkeypatch.setattr(DynamoPrizes, "put_prize", written)
        if edited == "rules":
            assert _campaign(operate, plan, miss_weight=0).is_success
        else:
            answers.append(_prize(treasury, "cash", CASH, **odds))
        return written(self, *args, **given)

    with handlers_of(system, APPROVAL_FEN="10000,10000,10000"):
        asked = _prize(treasury, "cash", CASH)
        monkeypatch.setattr(DynamoPrizes, "put_prize", overtaken)
        approved = second.approve(asked)
        if edited == "rules":
            answers.append(_prize(treasury, "cash", CASH))

    assert (approved.status_code, [each.status_code for each in answers]) == (
        approved_status,
        [202],
    )
    weights = {prize.prize_id: prize.weight for prize in system.prizes.list_prizes("gala")}
    assert weights == ({"cup": 10} if edited == "rules" else {"cup": 10, "cash": 10})


# ---------------------------------------------------------------- after an approval


@pytest.fixture
def both(a_user: MakeUser) -> HttpUser:
    return a_user("both", funds_fen=1_000, scope="hongbao/operate hongbao/treasury")


CHANGES: dict[str, Callable[[HttpUser, dict[str, Any]], httpx.Response]] = {
    **{name: edit for name, edit in DECIDING.items() if name not in {"a list", "others"}},
    "a cent prize": lambda by, _: _prize(by, "cent", CASH, amount_fen=1),
    "less cash": lambda by, _: _stock(by, "cash", -20),
    "another word": lambda by, plan: _campaign(by, plan, passphrase="theirs"),
}


@pytest.mark.parametrize("edit", CHANGES.values(), ids=CHANGES.keys())
def test_changing_who_wins_approved_cash_takes_two_operators(
    system: InMemorySystem,
    both: HttpUser,
    treasury: HttpUser,
    second: HttpUser,
    plan: dict[str, Any],
    edit: Any,
) -> None:
    with handlers_of(system, APPROVAL_FEN="10000,10000,10000"):
        second.approve(_prize(treasury, "cash", CASH))
        before = system.prizes.find_snapshot("gala")

        asked = edit(both, plan)

        assert asked.status_code == 202
        assert system.prizes.find_snapshot("gala") == before
        assert second.approve(asked).json()["is_applied"]
    assert system.prizes.find_snapshot("gala") != before
    assert system.differences() == []


def test_returning_approved_cash_that_was_removed_takes_two_operators(
    system: InMemorySystem, treasury: HttpUser, second: HttpUser, a_user: MakeUser
) -> None:
    third = a_user("third", scope="hongbao/treasury")
    with handlers_of(system, APPROVAL_FEN="10000,10000,10000"):
        second.approve(_prize(treasury, "cash", CASH))
        second.approve(_stock(third, "cash", -20))

        back = _stock(third, "cash", 20)

        assert back.status_code == 202
        assert second.approve(back).json()["is_applied"]
    assert system.balance_fen(treasury.user_id) == 600_000


def test_resuming_a_lottery_of_approved_cash_takes_two_operators(
    system: InMemorySystem,
    operate: HttpUser,
    both: HttpUser,
    treasury: HttpUser,
    second: HttpUser,
    plan: dict[str, Any],
) -> None:
    with handlers_of(system, APPROVAL_FEN="10000,10000,10000"):
        second.approve(_prize(treasury, "cash", CASH))
        assert _campaign(operate, plan, status="off").is_success

        resumed = [_campaign(by, plan).status_code for by in (operate, both)]

    assert resumed == [403, 202]


@pytest.mark.parametrize("edit", ["a list", "others", "a code", "a forfeit"])
def test_lists_codes_and_forfeits_beside_approved_cash_are_refused(
    system: InMemorySystem,
    both: HttpUser,
    operate: HttpUser,
    treasury: HttpUser,
    second: HttpUser,
    plan: dict[str, Any],
    edit: str,
    a_user: MakeUser,
) -> None:
    code = {"title": "code", "kind": "code", "weight": 0, "total": 0}
    assert _prize(operate, "code", code).is_success
    assert _campaign(operate, plan, miss_weight=0).is_success
    assert _prize(operate, "cup", CUP, weight=10**9).is_success
    with handlers_of(system, APPROVAL_FEN="10000,10000,10000"):
        second.approve(_prize(treasury, "cash", CASH))
        system.pass_time(20_000)
        assert a_user("ann").draw("gala").json()["prize"]["prize_id"] == "cup"

        if edit == "a code":
            refused = both.post("/admin/campaigns/gala/prizes/code/codes", {"add": ["A1"]})
        elif edit == "a forfeit":
            refused = _decide(both, "cup.1", "forfeited")
        else:
            refused = DECIDING[edit](both, plan)

        assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
        system.pass_time(HOUR_MS)
        assert edit != "a forfeit" or _decide(both, "cup.1", "forfeited").is_success


@pytest.mark.parametrize("edit", ["a prize", "stock"])
def test_an_approver_of_large_cash_sees_that_users_may_have_drawn(
    system: InMemorySystem, treasury: HttpUser, second: HttpUser, plan: dict[str, Any], edit: str
) -> None:
    late = {**plan, "starts_at_ms": plan["starts_at_ms"] + 600_000}
    with handlers_of(system, APPROVAL_FEN="10000,10000,10000"):
        assert _prize(treasury, "small", CASH, total=0).is_success
        waiting = _prize(treasury, "cash", CASH)
        system.pass_time(20_000)
        # Postponing the start now cannot undo draws that users made before.
        assert _campaign(second, late).is_success

        approved = second.approve(waiting)
        asked = (
            _prize(treasury, "more", CASH) if edit == "a prize" else _stock(treasury, "small", 20)
        )
        shown = second.http.get("/admin/approvals").json()["items"][0]

    # The first approval is stale: when it was requested, no user could have drawn yet.
    assert (approved.status_code, approved.json()["code"]) == (409, "version_conflict")
    assert asked.status_code == 202
    assert shown["summary"].endswith("; users may have drawn before")
    assert system.balance_fen(treasury.user_id) == 1_000_000


@pytest.mark.parametrize("prize_id", ["cup", "mug"])
def test_goods_that_were_checked_before_the_cash_are_not_written_after_it(
    system: InMemorySystem, operate: HttpUser, treasury: HttpUser, prize_id: str
) -> None:
    system.before_first_transaction(lambda _: _prize(treasury, "cash", CASH))

    with handlers_of(system):
        refused = _prize(operate, prize_id, CUP, weight=10**6)

    assert refused.status_code == 403
    weights = {prize.prize_id: prize.weight for prize in system.prizes.list_prizes("gala")}
    assert weights == {"cup": 10, "cash": 10}


def test_cash_without_units_leaves_the_other_rules_to_the_operate_role(
    operate: HttpUser, treasury: HttpUser, plan: dict[str, Any]
) -> None:
    assert _prize(treasury, "cash", CASH, total=0).is_success

    edits = [
        _campaign(operate, plan, miss_weight=1),
        _prize(operate, "cup", CUP, weight=3),
        _audience(operate, add=["ann"]),
        _prize(operate, "cash", CASH, total=0, status="off"),
    ]

    assert [each.status_code for each in edits] == [200] * 4
