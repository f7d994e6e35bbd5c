"""What every door does by itself, whatever the gateway before it lets through."""

from __future__ import annotations

import json
import runpy
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
    for key in handler.route_keys
}
ADMIN_ROUTES = [key for key in ROUTES if " /admin/" in key]


def _answer(key: str, **claims: str) -> dict[str, Any]:
    event = {
        "routeKey": key,
        "pathParameters": {"packet_id": PUBLISHED_IDS.sign("A" * 22), "campaign_id": "gala"},
        "requestContext": {"requestId": "r", "authorizer": {"jwt": {"claims": claims}}},
    }
    answer: dict[str, Any] = ROUTES[key](event, None)
    return answer


@pytest.mark.parametrize("key", ADMIN_ROUTES)
@pytest.mark.parametrize("scope", ["", "hongbao", "hongbao/administrator", "HONGBAO/ADMIN"])
def test_an_operators_route_refuses_a_token_without_the_scope(key: str, scope: str) -> None:
    answer = _answer(key, sub="ann", scope=scope)

    assert (answer["statusCode"], json.loads(answer["body"])["code"]) == (403, "forbidden")


@pytest.mark.parametrize("key", [key for key in ROUTES if not key.endswith("/feed")])
def test_no_answer_is_stored_on_the_way_unless_it_says_so(key: str) -> None:
    answer = _answer(key, sub="-no user id")

    assert answer["headers"]["cache-control"] == "no-store"
