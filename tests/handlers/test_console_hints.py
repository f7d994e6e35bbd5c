"""Hints in the console's forms, each compared with the API's behavior."""

import json
import re
from typing import Any

import pytest

from local.places import ROOT
from testing.in_memory_system import InMemorySystem
from testing.platform.users import HttpUser
from tests.handlers.conftest import MakeUser

HOUR_MS = 3_600_000
WORDS = (ROOT / "web/src/operator/words.ts").read_text(encoding="utf-8")
LIMITS = ROOT / "web/src/api/limits.ts"
"""File with the forms' bounds, which `npm run api` generates from openapi.json."""


def _bounds() -> list[tuple[str, str, int, int]]:
    if not LIMITS.exists():
        return []
    found = re.search(r"export const BOUNDS = (.*) as const;", LIMITS.read_text(encoding="utf-8"))
    assert found
    bounds: dict[str, dict[str, tuple[int, int]]] = json.loads(found[1])
    return [
        (body, name, least, most)
        for body, spans in bounds.items()
        for name, (least, most) in spans.items()
    ]


@pytest.fixture
def boss(system: InMemorySystem, a_user: MakeUser) -> HttpUser:
    """Return an operator with money and the campaign `gala`, which has a passphrase."""
    boss = a_user("boss", funds_fen=10**7, scope="hongbao/admin")
    assert _put(boss, system).is_success
    return boss


def _put(boss: HttpUser, system: InMemorySystem, campaign_id: str = "gala", **changes: Any) -> Any:
    now_ms = system.clock.now_ms()
    plan = {"title": "Gala", "starts_at_ms": now_ms, "ends_at_ms": now_ms + HOUR_MS, "status": "on"}
    plan |= {"passphrase": "恭喜发财", "budget_fen": 100_000, **changes}
    return boss.http.put(f"/admin/campaigns/{campaign_id}", json=plan)


def _refused_fields(
    boss: HttpUser, system: InMemorySystem, body: str, name: str, value: int
) -> set[str]:
    """Send *value* as field *name* of a request *body*; return the refused fields."""
    now_ms = system.clock.now_ms()
    rain = {"starts_at_ms": now_ms + 60_000, "seconds": 20, "total_fen": 100, "count": 1}
    prize = {"title": "tea", "kind": "goods", "weight": 1, "total": 10}
    send = {"kind": "lucky", "total_fen": 100, "count": 1, "campaign_id": "gala"}
    match body:
        case "CampaignBody":
            answer = _put(boss, system, "other", **{name: value})
        case "RulesBody":
            answer = _put(boss, system, "other", rules={name: value})
        case "PrizeBody":
            path = "/admin/campaigns/gala/prizes/tea"
            answer = boss.http.put(path, json={**prize, name: value})
        case "RainBody":
            answer = boss.post("/admin/campaigns/gala/rains", {**rain, name: value})
        case "SendBody":
            answer = boss.post("/admin/packets", {**send, name: value})
        case _:
            boss.http.put("/admin/campaigns/gala/prizes/tea", json=prize)
            answer = boss.post("/admin/campaigns/gala/prizes/tea/stock", {name: value})
    errors = answer.json().get("errors", [])
    return {
        error["field"].split(".")[-1] for error in errors if "than or equal" in error["message"]
    }


@pytest.mark.parametrize(("body", "name", "least", "most"), _bounds())
def test_the_bounds_that_a_form_shows_are_those_of_the_api(
    boss: HttpUser, system: InMemorySystem, body: str, name: str, least: int, most: int
) -> None:
    refused = {
        value: name in _refused_fields(boss, system, body, name, value)
        for value in (least - 1, least, most, most + 1)
    }

    assert refused == {least - 1: True, least: False, most: False, most + 1: True}


def test_the_hint_of_a_campaign_id_lists_the_ids_that_the_api_accepts(
    boss: HttpUser, system: InMemorySystem
) -> None:
    assert "小写字母、数字、- 和 _，以字母或数字开头，最多 63 个" in WORDS
    right, wrong = ("spring-2027_a", "9", "x" * 63), ("x" * 64, "Spring", "-spring", "_spring")

    assert all(_put(boss, system, campaign_id).is_success for campaign_id in right)
    assert not any(_put(boss, system, campaign_id).is_success for campaign_id in wrong)


def test_grabs_and_draws_need_no_passphrase_of_the_campaign_as_its_hint_says(
    boss: HttpUser, a_user: MakeUser
) -> None:
    assert "抢红包和抽奖都不用口令" in WORDS
    tea = {"title": "tea", "kind": "goods", "weight": 1, "total": 10}
    assert boss.http.put("/admin/campaigns/gala/prizes/tea", json=tea).is_success
    rain = {"kind": "equal", "total_fen": 100, "count": 1, "campaign_id": "gala"}
    packet_id = boss.post("/admin/packets", rain).json()["packet_id"]
    guest = a_user("guest")

    assert guest.grab(packet_id).is_success
    assert guest.draw("gala").is_success


def test_zero_disables_a_limit_as_its_hint_says(
    boss: HttpUser, system: InMemorySystem, a_user: MakeUser
) -> None:
    assert 'zero_hint: "0 表示不限。"' in WORDS
    rules = {"attempts_per_user_per_day": 0, "wins_per_user_per_day": 0}
    assert _put(boss, system, quota_per_user=0, rules=rules).is_success
    tea = {"title": "tea", "kind": "goods", "weight": 1, "total": 10}
    assert boss.http.put("/admin/campaigns/gala/prizes/tea", json=tea).is_success
    guest = a_user("guest")
    rain = {"kind": "equal", "total_fen": 100, "count": 1, "campaign_id": "gala"}
    packets = [boss.post("/admin/packets", rain).json()["packet_id"] for _ in range(3)]

    assert all(guest.grab(packet_id).is_success for packet_id in packets)
    assert all(guest.draw("gala").json()["outcome"] == "won" for _ in range(5))
