"""Routes of each operator role, and the requests that use cases refuse."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from local import openapi
from local.packet_ids import PUBLISHED_IDS
from redpacket.campaigns.model import CampaignPlan
from redpacket.lottery.model.lottery import PrizeKind
from redpacket.operations.model.operators import Duty, Operator
from redpacket.platform.errors import Forbidden
from redpacket.platform.http.api import Api
from redpacket.platform.idempotency import Request
from testing.builders import a_campaign, a_prize
from testing.in_memory_system import InMemorySystem, an_operator
from tests.unit.platform.test_handlers import ROUTES

CONTRACT = json.loads(openapi.OPENAPI.read_text(encoding="utf-8"))
ROLES = {
    f"{method.upper()} {path}": {
        scope.removeprefix("hongbao/") for each in operation["security"] for scope in each["user"]
    }
    for path, operations in CONTRACT["paths"].items()
    for method, operation in operations.items()
    if path.startswith("/admin/")
}
"""Roles that openapi.json names for each route."""


def _status(key: str, scope: str) -> tuple[int, str]:
    event: Mapping[str, Any] = {
        "routeKey": key,
        # These values are invalid, so a route that accepts the scope refuses the request.
        "pathParameters": {"packet_id": PUBLISHED_IDS.sign("A" * 22), "campaign_id": "-"},
        "queryStringParameters": {"cursor": "\n"},
        "requestContext": {
            "requestId": "r",
            "authorizer": {"jwt": {"claims": {"sub": "ann", "scope": scope}}},
        },
    }
    handler = ROUTES[key]
    assert isinstance(handler, Api)
    answer = handler(dict(event), None)
    return answer["statusCode"], json.loads(answer["body"])["code"]


@pytest.mark.parametrize("role", ["admin", *Duty])
def test_a_role_may_call_only_its_own_routes(role: str) -> None:
    let_through = {
        key for key in ROLES if _status(key, f"openid hongbao/{role}") != (403, "forbidden")
    }

    assert let_through == {key for key, roles in ROLES.items() if role in roles}


def test_money_and_personal_data_are_restricted_to_some_roles() -> None:
    """List the expected routes here, because the contract is generated from the code."""
    assert ROLES.keys() == {key for key in ROUTES if " /admin/" in key}
    assert all("admin" in roles for roles in ROLES.values())
    by_role = {role: {key for key, roles in ROLES.items() if role in roles} for role in Duty}
    moves_money = {
        "POST /admin/deposits",
        "POST /admin/accounts/{user}/campaign-money",
        "DELETE /admin/accounts/{user}/campaign-money",
        "PUT /admin/campaigns/{campaign_id}",
        "PUT /admin/campaigns/{campaign_id}/prizes/{prize_id}",
        "POST /admin/campaigns/{campaign_id}/prizes/{prize_id}/stock",
        "POST /admin/approvals/{approval_id}/approve",
        "POST /admin/approvals/{approval_id}/reject",
        "POST /admin/payments/returns",
    }
    reads = {key for key in ROUTES if key.startswith("GET ")}
    assert by_role[Duty.TREASURY] - reads == moves_money
    assert by_role[Duty.AUDIT] - reads == {"POST /admin/reconcile"}
    # On the routes of campaigns and prizes, the use cases refuse changes of money (see below).
    assert by_role[Duty.OPERATE] & moves_money == {
        key for key in moves_money if "/campaigns/" in key
    }
    alone = {key for key, roles in ROLES.items() if roles == {"admin"}}
    webhooks = {key for key in ROLES if "/webhooks" in key}
    limits = "PUT /admin/limits/{name}"
    assert alone == {"POST /admin/risk", "DELETE /admin/users/{user}", limits, *webhooks}


@pytest.fixture
def system() -> InMemorySystem:
    return InMemorySystem()


def _edit(
    system: InMemorySystem, plan: CampaignPlan, budget_fen: int | None, *duties: Duty
) -> None:
    system.process().apply_campaign(plan, budget_fen, None, an_operator("ann", *duties))


def test_a_plan_and_its_budget_need_two_roles(system: InMemorySystem) -> None:
    plan = a_campaign(campaign_id="gala")
    with pytest.raises(Forbidden):
        _edit(system, plan, 100, Duty.OPERATE)
    with pytest.raises(Forbidden):
        _edit(system, plan, None, Duty.TREASURY)
    assert system.campaigns.find_campaign("gala") is None

    _edit(system, plan, None, Duty.OPERATE)
    _edit(system, plan, 100, Duty.TREASURY)
    # An operator who may not change the budget may send its current value.
    _edit(system, replace(plan, title="new"), 100, Duty.OPERATE)

    with pytest.raises(Forbidden):
        _edit(system, replace(plan, title="new"), 99, Duty.OPERATE)
    with pytest.raises(Forbidden):
        _edit(system, plan, 100, Duty.TREASURY)
    campaign = system.campaigns.find_campaign("gala")
    assert campaign
    assert (campaign.title, campaign.budget_fen) == ("new", 100)


def _stock(system: InMemorySystem, prize_id: str, delta: int, operator: Operator) -> None:
    request = Request(operator.user_id, f"{prize_id}{delta}", str(delta))
    system.process().apply_stock("gala", prize_id, delta, None, operator, request)


def test_the_treasury_stocks_cash_and_operators_stock_goods(system: InMemorySystem) -> None:
    assert system.campaigns.create(a_campaign(campaign_id="gala"))
    operator, treasurer = an_operator("ann", Duty.OPERATE), an_operator("bob", Duty.TREASURY)
    system.deposit("bob", 1_000)
    cash = a_prize("gala", "cash", kind=PrizeKind.PACKET, amount_fen=10, total=5)
    goods = a_prize("gala", "cup", total=5)
    process = system.process()

    with pytest.raises(Forbidden):
        process.put_prize(cash, None, operator)
    with pytest.raises(Forbidden):
        process.put_prize(goods, None, treasurer)
    process.put_prize(goods, None, operator)
    _stock(system, "cup", 2, operator)
    process.put_prize(cash, None, treasurer)
    for prize_id, stranger in (("cash", operator), ("cup", treasurer)):
        for delta in (1, -1):
            with pytest.raises(Forbidden):
                _stock(system, prize_id, delta, stranger)
    _stock(system, "cash", 2, treasurer)

    # An edit of the prize's texts and odds moves no money.
    process.put_prize(replace(cash, total=7, title="new"), None, operator)
    with pytest.raises(Forbidden):
        process.put_prize(replace(cash, total=7), None, treasurer)
    assert system.balance_fen("bob") == 1_000 - 7 * 10
