"""Every page that users may read is counted against their limit, before anything is read."""

from __future__ import annotations

import json
import runpy
from typing import Any

import pytest

from local.packet_ids import PUBLISHED_IDS
from local.places import ROOT
from local.user_ids import PUBLISHED_USER_IDS
from redpacket.domain.errors import RateLimited
from redpacket.edge.wiring import wiring

_HANDLERS = {
    path.parent.name: runpy.run_path(str(path))["handler"]
    for path in sorted((ROOT / "functions").glob("*/app.py"))
}
_OPEN = {"GET /health", "GET /packets/{packet_id}/feed"}
_OPEN |= {"GET /transparency", "GET /transparency/proof", "GET /transparency/consistency"}
"""Anybody may ask without a token: the stage's throttles and caches at the edge bound these."""

_WITHOUT_A_CACHE = {"payment"}
"""Doors outside of the VPC have no counts of users: the stage bounds their routes by themselves
(tests/template/test_template.py), and each page is a few rows of the caller's own."""

READS = [
    (door, key)
    for door, handler in _HANDLERS.items()
    if hasattr(handler, "operations") and door not in _WITHOUT_A_CACHE
    for key in handler.operations
    if key.startswith(("GET ", "PUT /me")) and "/admin/" not in key and key not in _OPEN
]


@pytest.mark.parametrize(("door", "key"), READS)
def test_a_read_is_counted_first(door: str, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[str] = []

    def refuse(user_id: str) -> None:
        counted.append(user_id)
        raise RateLimited("too fast", 7)

    monkeypatch.setattr(wiring, "limit_reads", refuse)
    monkeypatch.setenv("PACKETS_TABLE", "packets")
    event: dict[str, Any] = {
        "routeKey": key,
        "pathParameters": {"packet_id": PUBLISHED_IDS.sign("A" * 22), "campaign_id": "gala"},
        "requestContext": {"requestId": "r", "authorizer": {"jwt": {"claims": {"sub": "ann"}}}},
    }

    answer = _HANDLERS[door](event, None)

    assert json.loads(answer["body"])["code"] == "rate_limited"
    assert (answer["statusCode"], answer["headers"]["retry-after"]) == (429, "7")
    assert counted == [PUBLISHED_USER_IDS.id_of("ann")]


def test_there_are_ten_of_them() -> None:
    assert len(READS) == 10, READS
