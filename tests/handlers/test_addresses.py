"""Delivery addresses of prize winners: the users who can set and read them, and their lifetime."""

import json
from typing import Any

import httpx
import pytest

from local.places import ROOT
from testing.in_memory_system import InMemorySystem
from testing.platform.users import HttpUser
from tests.handlers.conftest import MakeUser

HOME = {"name": "王小明", "phone": "+86 138-0013-8000", "address": "=上海市世纪大道 1 号"}
PHONES = json.loads((ROOT / "tests/vectors/texts.json").read_text(encoding="utf-8"))["phones"]
WINNERS = "/admin/campaigns/gala/winners"


@pytest.fixture
def winner(system: InMemorySystem, operator: HttpUser, a_user: MakeUser) -> HttpUser:
    """Return a user who has not drawn yet; each of the first two draws wins a cup."""
    now_ms = system.clock.now_ms()
    plan: dict[str, Any] = {
        "title": "抽奖",
        "starts_at_ms": now_ms,
        "ends_at_ms": now_ms + 3_600_000,
    }
    plan |= {"miss_weight": 0, "status": "on"}
    assert operator.http.put("/admin/campaigns/gala", json=plan).is_success
    cup = {"title": "cup", "kind": "goods", "weight": 1, "total": 2}
    assert operator.http.put("/admin/campaigns/gala/prizes/cup", json=cup).is_success
    return a_user()


def _path(user: HttpUser) -> str:
    draw_id = user.draw("gala", "key").json()["draw_id"]
    return f"/campaigns/gala/draws/{draw_id}/address"


def _give(user: HttpUser, path: str, **changes: object) -> tuple[int, str | None]:
    answer = user.http.put(path, json={**HOME, **changes})
    return answer.status_code, answer.json().get("code")


def _listed(reader: HttpUser) -> list[tuple[str | None, ...]]:
    items = reader.http.get(WINNERS).json()["items"]
    return [(item["recipient"], item["phone"], item["address"]) for item in items]


def test_only_the_winner_sets_the_delivery_address(
    system: InMemorySystem, winner: HttpUser, operator: HttpUser, a_user: MakeUser
) -> None:
    path, stranger = _path(winner), a_user()
    missing = (404, "campaign_not_found")
    for asker in (stranger, operator):
        assert _give(asker, path) == missing
        assert asker.http.get(path).json()["code"] == "campaign_not_found"
    before = winner.http.get(path).json()
    assert before == {"status": "won", "name": None, "phone": None, "address": None}

    assert _give(winner, path, address="临时地址") == (200, None)
    assert winner.http.put(path, json=HOME).json() == {"status": "won", **HOME}

    # The stranger wins the second cup, has no address yet, and cannot see the winner's.
    assert stranger.http.get(_path(stranger)).json()["address"] is None
    assert _give(a_user(), _path(a_user())) == missing
    assert _give(winner, path.replace("gala", "other")) == missing
    assert _listed(operator) == [tuple(HOME.values()), (None, None, None)]
    assert "王小明" not in str(system.logger.lines) + operator.http.get("/admin/journal").text


def test_an_address_is_bounded_visible_text(winner: HttpUser) -> None:
    path = _path(winner)
    wrong: list[dict[str, object]] = [
        *[dict[str, object]({name: text}) for name in HOME for text in ("", "x" * 1000)],
        {"phone": "call me"},
        {"address": "\u200b"},
        {"name": 7},
        {"draw_id": "0" * 32},
    ]

    assert {_give(winner, path, **each) for each in wrong} == {(422, "invalid_request")}


@pytest.mark.parametrize("case", PHONES, ids=[case["kept"] for case in PHONES])
def test_a_pasted_phone_number_is_accepted_with_its_formatting(
    winner: HttpUser, case: dict[str, str]
) -> None:
    path = _path(winner)

    assert _give(winner, path, phone=case["pasted"]) == (200, None)

    assert winner.http.get(path).json()["phone"] == case["kept"]


def test_a_pasted_address_loses_invisible_characters(winner: HttpUser) -> None:
    path = _path(winner)

    _give(winner, path, name="\u2068王小明\u2069", address=" 12 Main St\r\nSpringfield\u200b")

    assert winner.http.get(path).json() == {
        "status": "won",
        "name": "王小明",
        "phone": HOME["phone"],
        "address": "12 Main St Springfield",
    }


def test_operators_who_ship_goods_read_addresses_until_the_handover(
    winner: HttpUser, operator: HttpUser, a_user: MakeUser
) -> None:
    path = _path(winner)
    _give(winner, path)
    csv = operator.http.get(WINNERS, headers={"Accept": "text/csv"}).text
    assert '"\'=上海市世纪大道 1 号"' in csv
    seen = {
        role: _listed(a_user(scope=f"hongbao/{role}"))[0][2]
        for role in ("operate", "treasury", "audit")
    }
    assert seen == {"operate": HOME["address"], "treasury": None, "audit": None}

    handed = operator.http.put(f"{WINNERS}/cup.1", json={"status": "handed_over"})

    assert handed.status_code == httpx.codes.OK
    assert _give(winner, path, name="王大明") == (409, "version_conflict")
    assert winner.http.get(path).json() == {"status": "handed_over", **HOME}
    assert _listed(operator) == [(None, None, None)]


def test_an_erasure_removes_the_address(
    system: InMemorySystem, winner: HttpUser, operator: HttpUser
) -> None:
    path = _path(winner)
    _give(winner, path)

    assert operator.http.delete(f"/admin/users/{winner.host_id}").is_success

    assert "世纪大道" not in str([dict(table) for table in system.dynamo.tables.values()])
    assert winner.http.get(path).json()["address"] is None
    assert _listed(operator) == [(None, None, None)]
