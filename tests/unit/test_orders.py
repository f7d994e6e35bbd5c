"""From a request to an order: what depends on this deployment's settings, and what does not."""

from __future__ import annotations

import json

import pytest

from local.user_ids import PUBLISHED_USER_IDS
from redpacket.domain.beacon import BeaconChain, CampaignBeacon
from redpacket.domain.errors import InvalidRequest
from redpacket.domain.user_id import UserIds
from redpacket.edge.orders import send_order
from redpacket.edge.request import RequestOf
from redpacket.edge.schemas.bodies import parse
from redpacket.edge.schemas.draws import HelpBody
from redpacket.edge.wiring import wiring
from redpacket.flows.packets.send_packet import SendOrder
from testing.builders import a_campaign

BODY = {"kind": "lucky", "total_fen": 1000, "count": 10}


@pytest.fixture(autouse=True)
def _settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHARE_FEN_MAX", "20000")
    monkeypatch.setenv("PACKET_COUNT_MAX", "100")


def _order(body: dict[str, object]) -> SendOrder:
    headers = {"idempotency-key": "key"}
    return send_order(RequestOf({}, {}, headers, {"sub": "ann"}, json.dumps(body).encode()))


def test_an_order_within_the_limits_is_above_none() -> None:
    order = _order(BODY)

    assert order.refused_fields == ()
    assert order.share_fen_max == 20_000


def test_an_order_above_the_limits_names_each_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PACKET_COUNT_MAX", "9")

    order = _order({**BODY, "share_fen_max": 20_001})

    assert order.refused_fields == (("count", "is above 9"), ("share_fen_max", "is above 20000"))


@pytest.mark.parametrize(
    ("url", "is_taken"),
    [
        ("https://covers.example/spring.webp", True),
        ("https://a.shop.example/1.png?v=2", True),
        ("https://other.example/1.png", False),
        ("https://covers.example:444/1.png", False),
        ("https://user@covers.example/1.png", False),
        ("https://covers.example\\@other.example/1.png", False),
        ("https://a.b.shop.example/1.png", False),
    ],
)
def test_a_cover_lies_on_a_host_of_the_deployment(
    monkeypatch: pytest.MonkeyPatch, url: str, *, is_taken: bool
) -> None:
    monkeypatch.setenv("COVER_HOSTS", "covers.example,*.shop.example")

    order = _order({**BODY, "cover_url": url})

    refused = () if is_taken else (("cover_url", "is not on a host of this deployment"),)
    assert (order.cover_url, order.refused_fields) == (url, refused)


def test_no_hosts_take_no_covers() -> None:
    order = _order({**BODY, "cover_url": "https://covers.example/1.png"})

    assert [name for name, _ in order.refused_fields] == ["cover_url"]


@pytest.mark.parametrize(("name", "value"), [("SHARE_FEN_MAX", "150"), ("PACKET_COUNT_MAX", "5")])
def test_what_was_asked_is_the_same_whatever_the_settings(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    before = _order(BODY)
    monkeypatch.setenv(name, value)

    assert _order(BODY).request == before.request


def test_recipients_are_users_of_this_deployment_alone() -> None:
    ours, theirs = (
        PUBLISHED_USER_IDS.id_of("bob"),
        UserIds("the key of another deployment ..").id_of("bob"),
    )

    with pytest.raises(InvalidRequest) as refused:
        _order({**BODY, "recipients": [ours, theirs]})

    assert refused.value.errors == [{"field": "recipients.1", "message": "is not a user's token"}]
    assert _order({**BODY, "recipients": [ours]}).rules.recipients == {ours}


def test_an_inviter_who_was_made_up_is_refused() -> None:
    token = PUBLISHED_USER_IDS.id_of("bob")
    made_up = token[:-1] + ("A" if token[-1] != "A" else "B")

    with pytest.raises(InvalidRequest) as refused:
        parse(HelpBody, {"inviter_token": made_up, "transcript": "hello"})

    assert refused.value.errors == [{"field": "inviter_token", "message": "is not a user's token"}]
    assert parse(HelpBody, {"inviter_token": token, "transcript": "hello"}).inviter_token == token


@pytest.mark.parametrize(
    ("changes", "takes"),
    [
        ({"opening": "two_step"}, True),
        ({"opening": "two_step", "amounts_beacon": "round"}, True),
        ({"opening": "two_step", "amounts_beacon": "none"}, False),
        ({}, False),
        ({"kind": "equal", "opening": "two_step"}, False),
        ({"opening": "two_step", "expires_in_s": 59}, False),
        ({"opening": "two_step", "pay_with": "host"}, False),
    ],
)
def test_who_takes_a_round(
    monkeypatch: pytest.MonkeyPatch, changes: dict[str, object], *, takes: bool
) -> None:
    monkeypatch.setenv("BEACON_CHAIN", f"{'c' * 64},1790000000,3")
    monkeypatch.setenv("PAYMENT_CHANNELS", "host")
    monkeypatch.setattr(wiring, "require_on", lambda _switch: None, raising=False)
    order = _order({**BODY, **changes})

    assert (order.takes_round, order.refused_fields) == (takes, ())
    monkeypatch.setenv("PACKET_BEACON", "none")
    assert _order({**BODY, **changes}).takes_round is ("amounts_beacon" in changes and takes)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"kind": "equal", "opening": "two_step"},
        {"opening": "two_step", "expires_in_s": 59},
        {"opening": "two_step", "pay_with": "host"},
    ],
)
def test_a_round_that_can_not_be_taken_is_refused(
    monkeypatch: pytest.MonkeyPatch, changes: dict[str, object]
) -> None:
    monkeypatch.setenv("BEACON_CHAIN", f"{'c' * 64},1790000000,3")
    monkeypatch.setenv("PAYMENT_CHANNELS", "host")
    monkeypatch.setattr(wiring, "require_on", lambda _switch: None, raising=False)

    order = _order({**BODY, **changes, "amounts_beacon": "round"})

    assert [name for name, _ in order.refused_fields] == ["amounts_beacon"]


def test_a_deployment_without_a_beacon_takes_no_rounds() -> None:
    assert not _order({**BODY, "opening": "two_step"}).takes_round
    refused = _order({**BODY, "opening": "two_step", "amounts_beacon": "round"}).refused_fields
    assert refused == (("amounts_beacon", "this deployment has no beacon"),)


@pytest.mark.parametrize(("seconds", "takes"), [(61, True), (59, False)])
def test_a_rain_outlives_its_round(
    monkeypatch: pytest.MonkeyPatch, seconds: int, *, takes: bool
) -> None:
    monkeypatch.setenv("BEACON_CHAIN", f"{'c' * 64},1790000000,3")
    monkeypatch.setenv("CAMPAIGN_COUNT_MAX", "1000")
    now_ms = wiring.clock.now_ms()
    beacon = CampaignBeacon(BeaconChain("c" * 64, 1_790_000_000, 3), now_ms, "UTC")
    starts_at_ms = now_ms + 60_000
    window = {"starts_at_ms": starts_at_ms, "ends_at_ms": starts_at_ms + seconds * 1000}

    def takes_round(**campaign: object) -> bool:
        found = a_campaign(**{**window, "beacon": beacon, **campaign})
        monkeypatch.setitem(vars(wiring), "get_campaign", lambda _campaign_id: found)
        body = {**BODY, "campaign_id": "rain"}
        claims = {"sub": "ann", "scope": "hongbao/admin"}
        headers = {"idempotency-key": "key"}
        return send_order(RequestOf({}, {}, headers, claims, json.dumps(body).encode())).takes_round

    assert takes_round() is takes
    assert takes_round(beacon=None) is False
