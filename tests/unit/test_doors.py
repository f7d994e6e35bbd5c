"""What every door does by itself, whatever the gateway before it lets through."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest

from local.packet_ids import PUBLISHED_IDS
from local.places import ROOT
from redpacket.edge.api import Api

_DOORS = {
    path.parent.name: runpy.run_path(str(path))["handler"]
    for path in sorted((ROOT / "functions").glob("*/app.py"))
}
ROUTES = {
    key: handler
    for handler in _DOORS.values()
    if isinstance(handler, Api)
    for key in handler.operations
}
CROWDED = {"grab", "lottery", "payout"}
ADMIN_ROUTES = [key for key in ROUTES if " /admin/" in key]


def _answer(key: str, **claims: str) -> Mapping[str, Any]:
    event = {
        "routeKey": key,
        "pathParameters": {"packet_id": PUBLISHED_IDS.sign("A" * 22), "campaign_id": "gala"},
        "requestContext": {"requestId": "r", "authorizer": {"jwt": {"claims": claims}}},
    }
    return ROUTES[key](event, None)


@pytest.mark.parametrize("key", ADMIN_ROUTES)
@pytest.mark.parametrize("scope", ["", "hongbao", "hongbao/administrator", "HONGBAO/ADMIN"])
def test_an_operators_route_refuses_a_token_without_the_scope(key: str, scope: str) -> None:
    answer = _answer(key, sub="ann", scope=scope)

    assert (answer["statusCode"], json.loads(answer["body"])["code"]) == (403, "forbidden")


@pytest.mark.parametrize("key", [key for key in ROUTES if not key.endswith("/feed")])
def test_no_answer_is_stored_on_the_way_unless_it_says_so(key: str) -> None:
    answer = _answer(key, sub="-no user id")

    assert answer["headers"]["cache-control"] == "no-store"
    assert answer["headers"]["x-request-id"] == "r"


@pytest.mark.parametrize("door", sorted(_DOORS))
def test_a_door_imports_no_answer_and_a_crowds_door_no_pydantic(door: str) -> None:
    unwanted = {"redpacket.edge.answers"} | ({"pydantic"} if door in CROWDED else set())
    script = f"""
import runpy, sys
runpy.run_path("functions/{door}/app.py")
found = {unwanted!r} & set(sys.modules)
assert not found, found
"""

    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT / "shared")},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
