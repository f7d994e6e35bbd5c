"""Amounts that are hidden until the end, and covers, over HTTP."""

from __future__ import annotations

import itertools
import re
import time
from typing import Any

import httpx
import pytest

from local.client import NO_TLS
from local.stack import Stack
from tests.integration.conftest import Eventually, MakeUser, User

COVER = "https://covers.example/spring.webp"
_numbers = itertools.count(1)


@pytest.fixture
def sponsor(a_user: MakeUser) -> User:
    return a_user(f"host-{next(_numbers)}", funds_fen=1_000_000, scope="hongbao/admin")


def _campaign(sponsor: User, **changes: Any) -> str:
    campaign_id = f"hidden-{next(_numbers)}"
    now_ms = int(time.time() * 1000)
    body = {
        "title": "红包雨",
        "starts_at_ms": now_ms,
        "ends_at_ms": now_ms + 3_600_000,
        "budget_fen": 500_000,
        "status": "on",
        **changes,
    }
    answer = sponsor.http.put(f"/admin/campaigns/{campaign_id}", json=body)
    assert answer.status_code == httpx.codes.CREATED, answer.text
    return campaign_id


def _feed(stack: Stack, packet_id: str) -> httpx.Response:
    return httpx.get(
        f"{stack.api}/packets/{packet_id}/feed", timeout=30, trust_env=False, verify=NO_TLS
    )


def test_hidden_amounts_are_in_no_read_until_the_end(
    a_user: MakeUser, stack: Stack, eventually: Eventually
) -> None:
    sender, first, second, reader = a_user(funds_fen=30_011), a_user(), a_user(), a_user()
    packet = sender.send(total_fen=30_011, count=2, amounts_shown="end").json()
    claim = first.grab(packet["packet_id"]).json()
    eventually(lambda: first.balance_fen() == claim["amount_fen"])
    path = f"/packets/{packet['packet_id']}"
    last_fen = packet["total_fen"] - claim["amount_fen"]

    theirs = [
        _feed(stack, packet["packet_id"]).text,
        *(user.http.get(path).text for user in (sender, second, reader)),
        *(sender.http.get(f"/me/{book}").text for book in ("sent", "received", "transfers")),
        reader.http.get(f"{path}/proof").text,
    ]
    mine = first.record(packet["packet_id"])

    assert packet["amounts_shown"] == "end"
    for text in theirs:
        numbers = re.findall(r"\d+", text)
        assert not {str(claim["amount_fen"]), str(last_fen)} & set(numbers)
    assert mine["mine"]["amount_fen"] == mine["claims"][0]["amount_fen"] == claim["amount_fen"]
    assert (mine["claimed_fen"], mine["luckiest"], mine["claimed_count"]) == (None, None, 1)
    assert first.http.get("/me/received").json()["luckiest_count"] == 0

    # The last share is taken: now everything is told, and a page has another tag.
    tag = _feed(stack, packet["packet_id"]).headers["etag"]
    assert second.grab(packet["packet_id"]).json()["amount_fen"] == last_fen
    ended = _feed(stack, packet["packet_id"])
    assert ended.headers["etag"] != tag
    shown = ended.json()
    assert [each["amount_fen"] for each in shown["claims"]] == [claim["amount_fen"], last_fen]
    assert shown["claimed_fen"] == packet["total_fen"]
    assert [each["is_luckiest"] for each in shown["claims"]].count(True) == 1
    assert reader.record(packet["packet_id"])["luckiest"]["amount_fen"] == max(
        claim["amount_fen"], last_fen
    )


def test_a_campaign_hides_amounts_by_default_and_a_packet_may_say_otherwise(
    a_user: MakeUser, sponsor: User, stack: Stack
) -> None:
    campaign_id = _campaign(sponsor)
    live_id = _campaign(sponsor, amounts_shown="live")
    order: dict[str, Any] = {"total_fen": 1_000, "count": 2}
    packets = [
        sponsor.send(campaign_id=campaign_id, **order).json(),
        sponsor.send(campaign_id=campaign_id, amounts_shown="live", **order).json(),
        sponsor.send(campaign_id=live_id, **order).json(),
    ]
    taker = a_user()
    for packet in packets:
        taker.grab(packet["packet_id"])

    feeds = [_feed(stack, packet["packet_id"]).json() for packet in packets]

    assert [packet["amounts_shown"] for packet in packets] == ["end", "live", "live"]
    assert [feed["claims"][0]["amount_fen"] is None for feed in feeds] == [True, False, False]
    assert [feed["claimed_fen"] is None for feed in feeds] == [True, False, False]
    seen = a_user().http.get(f"/campaigns/{campaign_id}").json()
    assert seen["amounts_shown"] == "end"


def test_a_cover_is_on_an_allowed_host_and_everybody_sees_it(
    a_user: MakeUser, stack: Stack
) -> None:
    sender = a_user(funds_fen=2_000)

    elsewhere = sender.send(cover_url="https://elsewhere.test/1.png")
    plain = sender.send(cover_url="http://covers.example/1.png")
    packet = sender.send(cover_url=COVER).json()

    for refused in (elsewhere, plain):
        assert refused.status_code == httpx.codes.UNPROCESSABLE_ENTITY
        assert [each["field"] for each in refused.json()["errors"]] == ["cover_url"]
    assert packet["cover_url"] == COVER
    assert _feed(stack, packet["packet_id"]).json()["cover_url"] == COVER
    assert a_user().record(packet["packet_id"])["cover_url"] == COVER
    assert a_user().record(sender.send().json()["packet_id"])["cover_url"] is None
