"""Orders made from requests: parts that depend on the settings, and parts that do not."""

import json
from types import SimpleNamespace

import pytest

from local.user_ids import PUBLISHED_USER_IDS
from redpacket.containers import containers
from redpacket.ledger.errors import ChannelUnavailable
from redpacket.lottery.api.draw_schemas import HelpBody
from redpacket.operations.model.switches import Switch
from redpacket.packets.api.orders import send_order
from redpacket.packets.use_cases.send_packet import SendOrder
from redpacket.platform.errors import Forbidden, InvalidRequest
from redpacket.platform.http.bodies import parse
from redpacket.platform.http.request import RequestOf
from redpacket.platform.image_url import is_on_hosts
from redpacket.platform.user import UserIds

BODY = {"kind": "lucky", "total_fen": 1000, "count": 10}


@pytest.fixture(autouse=True)
def _settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHARE_FEN_MAX", "20000")
    monkeypatch.setenv("SHARE_BASE_URL", "https://share.example")


def _order(body: dict[str, object]) -> SendOrder:
    headers = {"idempotency-key": "key"}
    return send_order(RequestOf({}, {}, headers, {"sub": "ann"}, json.dumps(body).encode()))


def test_an_order_above_the_limits_names_each_of_them() -> None:
    within = _order(BODY)
    assert (within.refused_fields, within.share_fen_max) == ((), 20_000)

    order = _order({**BODY, "count": 101, "share_fen_max": 20_001})

    assert order.refused_fields == (("count", "is above 100"), ("share_fen_max", "is above 20000"))


def test_a_cover_is_on_a_host_of_the_deployment(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = "https://covers.example/spring.webp", "https://a.shop.example/1.png?v=2"
    elsewhere = "https://other.example/1.png", "https://a.b.shop.example/1.png"
    unclear = (
        "https://covers.example:444/1.png",
        "https://user@covers.example/1.png",
        "https://covers.example\\@other.example/1.png",
        "https://covers.example?1.png",
        "https://covers.example/1.png\n",
    )
    monkeypatch.setenv("COVER_HOSTS", "covers.example,*.shop.example")
    for url in (*taken, *elsewhere):
        order = _order({**BODY, "cover_url": url})
        refused = () if url in taken else (("cover_url", "is not on a host of this deployment"),)
        assert (order.cover_url, order.refused_fields) == (url, refused)
    for url in unclear:
        assert not is_on_hosts(url, ["covers.example"])
        with pytest.raises(InvalidRequest):
            _order({**BODY, "cover_url": url})

    # Without COVER_HOSTS, only the page's own covers are accepted.
    monkeypatch.delenv("COVER_HOSTS")
    own = _order({**BODY, "cover_url": "/covers/moon.svg"})
    assert (own.cover_url, own.refused_fields) == ("https://share.example/covers/moon.svg", ())
    for path in ("/covers/../x.svg", "/covers/moon.svg?x", "//covers/moon.svg", "/covers/moon.png"):
        with pytest.raises(InvalidRequest):
            _order({**BODY, "cover_url": path})
    assert [name for name, _ in _order({**BODY, "cover_url": taken[0]}).refused_fields] == [
        "cover_url"
    ]


def test_the_request_stored_is_independent_of_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    before = _order(BODY)
    monkeypatch.setenv("SHARE_FEN_MAX", "150")

    assert _order(BODY).request == before.request


def test_a_packet_is_paid_for_while_payments_are_on_and_its_provider_is_configured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[Switch] = []
    switches = SimpleNamespace(require_on=calls.append)
    monkeypatch.setitem(vars(containers.operations), "switches", switches)
    with pytest.raises(ChannelUnavailable):
        _order({**BODY, "pay_with": "host"})
    monkeypatch.setenv("PAYMENT_CHANNELS", "host")

    assert _order({**BODY, "pay_with": "host"}).payment_id
    assert calls == [Switch.PAY, Switch.PAY]


def test_only_operators_send_for_a_campaign() -> None:
    with pytest.raises(Forbidden):
        _order({**BODY, "campaign_id": "rain"})


def test_recipients_are_users_of_this_deployment() -> None:
    ours, theirs = (
        PUBLISHED_USER_IDS.id_of("bob"),
        UserIds("the key of another deployment ..").id_of("bob"),
    )

    with pytest.raises(InvalidRequest) as refused:
        _order({**BODY, "recipients": [ours, theirs]})

    assert refused.value.errors == [{"field": "recipients.1", "message": "is not a user's token"}]
    assert _order({**BODY, "recipients": [ours]}).rules.recipients == {ours}


def test_an_invented_inviter_is_refused() -> None:
    token = PUBLISHED_USER_IDS.id_of("bob")
    made_up = token[:-1] + ("A" if token[-1] != "A" else "B")

    with pytest.raises(InvalidRequest) as refused:
        parse(HelpBody, {"inviter_token": made_up, "transcript": "hello"})

    assert refused.value.errors == [{"field": "inviter_token", "message": "is not a user's token"}]
    assert parse(HelpBody, {"inviter_token": token, "transcript": "hello"}).inviter_token == token
