"""Replacement of a campaign's list of users: cleared in parts, then filled."""

from typing import Any

import httpx
import pytest

from redpacket.campaigns.use_cases.edit_audience import clear_audience
from redpacket.containers import containers
from testing.in_memory_system import InMemorySystem, an_operator
from testing.platform.users import HttpUser
from tests.handlers.conftest import MakeUser

HOUR_MS = 3_600_000
USERS = [f"user{n}" for n in range(120)]


@pytest.fixture
def boss(system: InMemorySystem, a_user: MakeUser) -> HttpUser:
    """Return an operator with the paused campaign `gala`, whose list allows 120 users."""
    boss = a_user("boss", scope="hongbao/admin")
    assert _put(boss, system, status="off").is_success
    assert _edit(boss, add=USERS, mode="allow").json() == {"size": 120, "mode": "allow"}
    return boss


def _put(boss: HttpUser, system: InMemorySystem, **changes: Any) -> httpx.Response:
    now_ms = system.clock.now_ms()
    plan = {"title": "Gala", "starts_at_ms": now_ms, "ends_at_ms": now_ms + HOUR_MS, "status": "on"}
    return boss.http.put("/admin/campaigns/gala", json={**plan, **changes})


def _edit(boss: HttpUser, **body: Any) -> httpx.Response:
    return boss.http.post("/admin/campaigns/gala/audience", json=body)


def _size(boss: HttpUser) -> int:
    return int(boss.http.get("/admin/campaigns/gala").json()["audience_size"])


def test_a_replaced_list_has_only_the_new_users(
    system: InMemorySystem, boss: HttpUser, a_user: MakeUser
) -> None:
    cleared = _edit(boss, remove_all=True)
    filled = _edit(boss, add=["ann"], mode="allow")
    tea = {"title": "tea", "kind": "goods", "weight": 1, "total": 10}
    assert boss.http.put("/admin/campaigns/gala/prizes/tea", json=tea).is_success
    assert _put(boss, system).is_success

    assert cleared.json() == {"size": 0, "mode": "allow"}
    assert filled.json() == {"size": 1, "mode": "allow"}
    assert _size(boss) == 1
    assert a_user("ann").draw("gala").is_success
    assert a_user("user7").draw("gala").json()["code"] == "not_in_audience"


def test_an_auditor_searches_a_list_for_one_user_and_the_audit_log_records_it(
    boss: HttpUser, a_user: MakeUser
) -> None:
    auditor, path = a_user("aud", scope="hongbao/audit"), "/admin/campaigns/gala/audience"
    _edit(boss, remove=["user8"])

    answers = [auditor.http.get(f"{path}/{user}").json() for user in ("user7", "user8")]
    refused = a_user("ope", scope="hongbao/operate").http.get(f"{path}/user7")

    assert answers == [
        {"size": 119, "mode": "allow", "is_listed": is_listed} for is_listed in (True, False)
    ]
    assert refused.status_code == httpx.codes.FORBIDDEN
    reads = boss.http.get("/admin/journal", params={"subject": "reads"}).json()["items"]
    told = [{change["field"]: change["after"] for change in each["changes"]} for each in reads]
    asked = {(each["list"], each["campaign_id"], each["user"]) for each in told}
    users = [a_user(user).user_token() for user in ("user7", "user8")]
    assert asked == {("audience", "gala", user) for user in users}


def test_repeats_continue_a_clearing_that_ran_out_of_time(boss: HttpUser) -> None:
    ports, clock = containers.editing.audience_ports, containers.platform.clock
    sizes = [_size(boss)]

    while sizes[-1] and len(sizes) < 200:
        cleared = clear_audience("gala", 0, bool, an_operator(), ports=ports, clock=clock)
        sizes.append(cleared.size)

    assert sizes[-1] == _size(boss) == 0
    assert len(sizes) > 10
    assert sizes == sorted(set(sizes), reverse=True)


def test_a_list_that_currently_decides_who_takes_part_is_not_cleared(
    system: InMemorySystem, boss: HttpUser
) -> None:
    assert _put(boss, system).is_success

    refused = _edit(boss, remove_all=True)

    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_request")
    assert refused.json()["errors"][0]["field"] == "remove_all"
    assert _size(boss) == 120


def test_a_clearing_excludes_other_edits(boss: HttpUser) -> None:
    refused = [
        _edit(boss, remove_all=True, **other)
        for other in ({"add": ["ann"]}, {"remove": ["ann"]}, {"mode": "deny"})
    ]

    assert [answer.status_code for answer in refused] == [422, 422, 422]
    assert _size(boss) == 120
