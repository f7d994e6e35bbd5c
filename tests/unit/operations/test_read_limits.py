"""Rate limits of user-readable pages: each request is counted before any read."""

import json
from types import SimpleNamespace
from typing import Any

import pytest

from local.packet_ids import PUBLISHED_IDS
from local.user_ids import PUBLISHED_USER_IDS
from redpacket.containers import containers
from redpacket.platform.errors import RateLimited
from testing.in_memory_system import TABLES
from tests.unit.platform.test_handlers import HANDLERS, ROUTES

_OPEN = {"GET /health", "GET /packets/{packet_id}/feed", "GET /campaigns/{campaign_id}"}
_OPEN |= {"GET /packets/{packet_id}/preview", "GET /pictures/{picture_id}"}
_OPEN |= {"GET /transparency", "GET /transparency/proof", "GET /transparency/consistency"}
_OPEN |= {"GET /transparency/checkpoint", "GET /transparency/tile/{proxy+}"}
"""Routes without a token; the stage's throttles and caches at the edge limit them."""

_WITHOUT_A_CACHE = {"payment"}
"""Handlers outside the VPC, which cannot count users' requests in the cache. The stage throttles
their routes (tests/template/test_template.py), and each page reads only a few of the caller's rows.
"""

READS = {
    key: handler
    for key, handler in ROUTES.items()
    if handler not in (HANDLERS[name] for name in _WITHOUT_A_CACHE)
    and key.startswith(("GET ", "PUT /me"))
    and "/admin/" not in key
    and key not in _OPEN
}


def test_a_request_is_counted_before_any_read(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[str] = []

    def refuse(user_id: str) -> None:
        counted.append(user_id)
        raise RateLimited("too fast", 7)

    costs = SimpleNamespace(count=refuse)
    monkeypatch.setitem(vars(containers.operations), "read_costs", costs)
    monkeypatch.setenv("TABLES", TABLES)
    for key, handler in READS.items():
        event: dict[str, Any] = {
            "routeKey": key,
            "pathParameters": {"packet_id": PUBLISHED_IDS.sign("A" * 22), "campaign_id": "gala"},
            "queryStringParameters": {"day": "20270129"},  # a malformed query causes no reads
            "requestContext": {"requestId": "r", "authorizer": {"jwt": {"claims": {"sub": "ann"}}}},
        }

        answer = handler(event, None)

        assert json.loads(answer["body"])["code"] == "rate_limited", key
        assert (answer["statusCode"], answer["headers"]["retry-after"]) == (429, "7")
        assert counted == [PUBLISHED_USER_IDS.id_of("ann")]
        counted.clear()
    assert len(READS) == 11, READS
