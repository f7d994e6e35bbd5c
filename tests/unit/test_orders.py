"""From a request to an order: what depends on this deployment's settings, and what does not."""

from __future__ import annotations

import json

import pytest

from redpacket.adapters.public_tokens import KeyedTokens
from redpacket.edge import wiring
from redpacket.edge.api import HttpRequest
from redpacket.edge.orders import send_order
from redpacket.flows.send_packet import SendOrder

BODY = {"kind": "lucky", "total_fen": 1000, "count": 10}


@pytest.fixture(autouse=True)
def _settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHARE_FEN_MAX", "20000")
    monkeypatch.setenv("PACKET_COUNT_MAX", "100")


def _order(body: dict[str, object]) -> SendOrder:
    headers = {"idempotency-key": "key"}
    return send_order(HttpRequest({}, {}, headers, {"sub": "ann"}, json.dumps(body).encode()))


def test_an_order_within_the_limits_is_above_none() -> None:
    order = _order(BODY)

    assert order.refused_fields == ()
    assert order.share_fen_max == 20_000


def test_an_order_above_the_limits_names_each_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PACKET_COUNT_MAX", "9")

    order = _order({**BODY, "share_fen_max": 20_001})

    assert order.refused_fields == (("count", "is above 9"), ("share_fen_max", "is above 20000"))


@pytest.mark.parametrize(("name", "value"), [("SHARE_FEN_MAX", "150"), ("PACKET_COUNT_MAX", "5")])
def test_what_was_asked_is_the_same_whatever_the_settings(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    before = _order(BODY)
    monkeypatch.setenv(name, value)

    assert _order(BODY).request == before.request


def test_recipients_that_are_nobody_are_named_and_left_to_the_ledger(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before, after = KeyedTokens("the key"), KeyedTokens("the key that replaced it")
    tokens = [before.token_of("bob"), after.token_of("cat")]
    monkeypatch.setattr(wiring, "public_tokens", lambda: after)

    order = _order({**BODY, "recipients": tokens})

    # Not refused before the ledger was asked: a repeat gets its first answer (I10).
    assert order.refused_fields == (("recipients.0", "is not a user's token"),)
    assert order.rules.recipients == {"cat"}
