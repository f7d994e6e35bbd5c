"""Operators' refused requests, which leave no row in the audit log."""

from typing import Any

import httpx
import pytest

from testing.in_memory_system import InMemorySystem
from testing.platform.users import HttpUser

UNKNOWN = httpx.codes.NOT_FOUND
INVALID = httpx.codes.UNPROCESSABLE_ENTITY

REFUSED: list[tuple[str, str, dict[str, Any], int]] = [
    ("POST", "campaigns/none/audience", {"add": ["ann"]}, UNKNOWN),
    ("POST", "campaigns/gala/audience", {"add": ["ann"], "remove": ["ann"]}, INVALID),
    ("POST", "campaigns/none/preheat", {}, UNKNOWN),
    ("DELETE", f"pictures/{'0' * 16}", {}, UNKNOWN),
    ("PUT", "switches/none", {"on": False, "reason": "test"}, UNKNOWN),
    ("PUT", "limits/grabs_per_minute", {"value": -1}, INVALID),
]


@pytest.mark.parametrize(("method", "path", "body", "status"), REFUSED)
def test_a_refused_action_leaves_no_row_in_the_audit_log(
    system: InMemorySystem, operator: HttpUser, method: str, path: str, body: object, status: int
) -> None:
    now_ms = system.clock.now_ms()
    plan = {"title": "Gala", "starts_at_ms": now_ms, "ends_at_ms": now_ms + 3_600_000}
    assert operator.http.put("/admin/campaigns/gala", json=plan | {"status": "on"}).is_success
    before = _journal(system)

    answer = operator.http.request(method, f"/admin/{path}", json=body)

    assert answer.status_code == status, answer.text
    assert _journal(system) == before


def _journal(system: InMemorySystem) -> set[tuple[str, str]]:
    return set(system.dynamo.tables["journal"])
