"""What each role of operators may ask for, route by route, and what of it the flows refuse."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from local.packet_ids import PUBLISHED_IDS
from redpacket.domain.campaign import CampaignPlan
from redpacket.domain.errors import Forbidden
from redpacket.domain.lottery import PrizeKind
from redpacket.domain.operators import Duty, Operator
from redpacket.edge.api import Api
from redpacket.ports.accounts import Request
from testing.builders import a_campaign, a_prize
from testing.in_memory_system import InMemorySystem, an_operator
from tests.unit.test_doors import ROUTES

ALL = "operate treasury audit"
ROLES = {
    "POST /admin/deposits": "treasury",
    "GET /admin/packets/{packet_id}/audit": "audit",
    "GET /admin/switches": ALL,
    "PUT /admin/switches/{name}": "operate",
    "GET /admin/campaigns/{campaign_id}": ALL,
    "PUT /admin/campaigns/{campaign_id}": "operate treasury",
    "POST /admin/campaigns/{campaign_id}/preheat": "operate",
    "PUT /admin/campaigns/{campaign_id}/prizes/{prize_id}": "operate treasury",
    "POST /admin/campaigns/{campaign_id}/prizes/{prize_id}/stock": "operate treasury",
    "GET /admin/payments/returns": "audit",
    "GET /admin/payments/debts": "audit",
    "POST /admin/reconcile": "audit",
    "GET /admin/approvals": "treasury audit",
    "POST /admin/approvals/{approval_id}/approve": "treasury",
    "POST /admin/approvals/{approval_id}/reject": "treasury",
    "GET /admin/journal": "audit",
    "GET /admin/campaigns": ALL,
    "GET /admin/packets": ALL,
    "GET /admin/packets/{packet_id}/claims": ALL,
    "GET /admin/campaigns/{campaign_id}/winners": ALL,
    "PUT /admin/campaigns/{campaign_id}/winners/{unit}": "operate",
    "POST /admin/campaigns/{campaign_id}/audience": "operate",
    "POST /admin/risk": "",
    "DELETE /admin/users/{user}": "",
    "GET /admin/webhooks": "",
    "GET /admin/webhooks/{name}": "",
    "PUT /admin/webhooks/{name}": "",
    "POST /admin/webhooks/{name}/secret": "",
    "POST /admin/webhooks/{name}/test": "",
    "POST /admin/webhooks/{name}/replay": "",
}
"""Beside the scope that may do everything."""


def _status(key: str, scope: str) -> tuple[int, str]:
    event: Mapping[str, Any] = {
        "routeKey": key,
        # No path is one: a route that lets the scope through refuses that.
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


@pytest.mark.parametrize("key", [key for key in ROUTES if " /admin/" in key])
@pytest.mark.parametrize("role", ["admin", *Duty])
def test_a_role_is_let_through_to_its_own_routes_alone(key: str, role: str) -> None:
    is_theirs = role == "admin" or role in ROLES[key].split()

    answer = _status(key, f"openid hongbao/{role}")

    assert (answer == (403, "forbidden")) is not is_theirs


@pytest.fixture
def system() -> InMemorySystem:
    return InMemorySystem()


def _edit(
    system: InMemorySystem, plan: CampaignPlan, budget_fen: int | None, *duties: Duty
) -> None:
    system.process().edit_campaign(plan, budget_fen, None, an_operator("ann", *duties))


def test_a_plan_and_its_budget_are_two_duties(system: InMemorySystem) -> None:
    plan = a_campaign(campaign_id="gala")
    with pytest.raises(Forbidden):
        _edit(system, plan, 100, Duty.OPERATE)
    with pytest.raises(Forbidden):
        _edit(system, plan, None, Duty.TREASURY)
    assert system.campaigns.find_campaign("gala") is None

    _edit(system, plan, None, Duty.OPERATE)
    _edit(system, plan, 100, Duty.TREASURY)
    # As it is, by who may not change it.
    _edit(system, replace(plan, title="new"), 100, Duty.OPERATE)

    with pytest.raises(Forbidden):
        _edit(system, replace(plan, title="new"), 99, Duty.OPERATE)
    with pytest.raises(Forbidden):
        _edit(system, plan, 100, Duty.TREASURY)
    found = system.campaigns.find_campaign("gala")
    assert found
    assert (found.title, found.budget_fen) == ("new", 100)


def _stock(system: InMemorySystem, prize_id: str, delta: int, operator: Operator) -> None:
    request = Request(operator.user_id, f"{prize_id}{delta}", str(delta))
    system.process().change_stock("gala", prize_id, delta, None, operator, request)


def test_cash_is_stocked_by_the_treasury_and_goods_by_who_operates(system: InMemorySystem) -> None:
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
    process.put_prize(cash, None, treasurer)
    process.put_prize(goods, None, operator)
    for prize_id, stranger in (("cash", operator), ("cup", treasurer)):
        for delta in (1, -1):
            with pytest.raises(Forbidden):
                _stock(system, prize_id, delta, stranger)
    _stock(system, "cash", 2, treasurer)
    _stock(system, "cup", 2, operator)

    # Its words and odds hold no money.
    process.put_prize(replace(cash, total=7, title="new"), None, operator)
    with pytest.raises(Forbidden):
        process.put_prize(replace(cash, total=7), None, treasurer)
    assert system.balance_fen("bob") == 1_000 - 7 * 10
