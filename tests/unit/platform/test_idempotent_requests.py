"""Hash of a request: its body and its resource."""

import json
from typing import Any

import pytest

from redpacket.platform.http.bodies import body_hash, idempotent_request
from redpacket.platform.http.request import HttpRequest


def _hash(path: dict[str, str], body: dict[str, Any]) -> str:
    headers, claims = {"idempotency-key": "key"}, {"sub": "ann"}
    request = HttpRequest(path, {}, headers, claims, json.dumps(body).encode())
    return idempotent_request(request).body_hash


@pytest.mark.parametrize("path", [{"prize_id": "cup"}, {"campaign_id": "fair"}, {}])
def test_a_key_is_scoped_to_its_resource(path: dict[str, str]) -> None:
    assert _hash(path, {"delta": 1}) != _hash({"prize_id": "tea"}, {"delta": 1})


def test_requests_without_a_path_have_their_stored_hash() -> None:
    assert _hash({}, {"delta": 1}) == body_hash({"delta": 1})
