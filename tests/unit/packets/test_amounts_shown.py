"""Amounts that are hidden until a packet's end: until then, users see only their own amount."""

import hashlib
import json
from typing import Any

import pytest

from redpacket.campaigns.api.schemas import CampaignBody
from redpacket.campaigns.model import AmountsShown
from redpacket.packets.api import views
from redpacket.packets.model.packet import Packet, PacketStatus
from redpacket.packets.use_cases.read_records import read_record
from redpacket.platform.errors import InvalidRequest
from redpacket.platform.http.bodies import parse
from testing.builders import a_packet
from testing.in_memory_system import LIFE_MS, InMemorySystem

NOBODY = views.UserPresenter({})
HIDDEN: dict[str, Any] = {"amounts_shown": AmountsShown.END}


def _record(system: InMemorySystem, packet: Packet, viewer: str) -> dict[str, Any]:
    return {**views.record_view(system.read_record(packet, viewer), NOBODY)}


def _feed(system: InMemorySystem, packet: Packet) -> dict[str, Any]:
    reading: dict[str, Any] = {"packets": system.packets, "pages": system.pages}
    record = read_record(packet.packet_id, None, after_no=0, limit=100, **reading)
    return {**views.feed_view(record, NOBODY)}


def _numbers(page: object) -> set[int]:
    """Return every integer of an answer at any depth."""
    if isinstance(page, dict):
        return set().union(*(_numbers(value) for value in page.values()))
    if isinstance(page, list):
        return set().union(*map(_numbers, page))
    return {page} if type(page) is int else set()


def test_amounts_are_hidden_until_no_share_can_be_taken_or_returned() -> None:
    hidden = {status for status in PacketStatus if a_packet(**HIDDEN).hides_amounts(status)}

    assert hidden >= {PacketStatus.OPEN, PacketStatus.CLOSING}
    assert not hidden & {PacketStatus.EMPTIED, PacketStatus.CLOSED}
    assert not any(a_packet().hides_amounts(status) for status in PacketStatus)


def test_a_running_packet_shows_only_the_viewers_own_amount(system: InMemorySystem) -> None:
    packet = system.send(count=4, total_fen=30_011, **HIDDEN)
    mine, other = (system.grab(packet, name).share for name in ("ann", "bob"))
    system.settle()

    record, feed = _record(system, packet, "ann"), _feed(system, packet)
    stranger = _record(system, packet, "eve")

    assert record["mine"]["amount_fen"] == mine.amount_fen
    assert [claim["amount_fen"] for claim in record["claims"]] == [mine.amount_fen, None]
    assert [claim["amount_fen"] for claim in feed["claims"]] == [None, None]
    for page in (record, feed, stranger):
        assert page["claimed_fen"] is None
        assert {claim["is_luckiest"] for claim in page["claims"]} == {None}
        taken_fen = mine.amount_fen + other.amount_fen
        told = {other.amount_fen, taken_fen, packet.terms.total_fen - taken_fen}
        assert not told & _numbers(page)
    assert (record["luckiest"], record["mine"]["is_luckiest"]) == (None, None)


def test_amounts_appear_when_the_last_share_is_taken(system: InMemorySystem) -> None:
    packet = system.send(count=2, **HIDDEN)
    claims = [system.grab(packet, name).share for name in ("ann", "bob")]

    record, feed = _record(system, packet, "eve"), _feed(system, packet)

    best = max(claims, key=lambda share: (share.amount_fen, -share.decided_at_ms))
    for page in (record, feed):
        shown = [claim["amount_fen"] for claim in page["claims"]]
        assert shown == [share.amount_fen for share in claims]
        assert page["claimed_fen"] == packet.terms.total_fen
        assert [claim["is_luckiest"] for claim in page["claims"]].count(True) == 1
    assert record["luckiest"]["share_no"] == best.share_no


def test_amounts_appear_when_an_expired_packet_is_closed(system: InMemorySystem) -> None:
    packet = system.send(count=3, **HIDDEN)
    claim = system.grab(packet, "ann").share
    system.settle()
    system.pass_time(LIFE_MS + 1)
    expired = _feed(system, packet)
    while system.packets.find_packet(packet.packet_id).end is None:  # type: ignore[union-attr]
        closing = _feed(system, packet)
        system.expire()
        system.pass_time(61_000)

    closed = _feed(system, packet)

    assert expired["claimed_fen"] is closing["claimed_fen"] is None
    assert closed["claimed_fen"] == closed["claims"][0]["amount_fen"] == claim.amount_fen


def test_the_settled_sum_of_a_large_packet_is_hidden(system: InMemorySystem) -> None:
    packet = system.send_in_shards(2, count=600)
    claim = system.grab(packet, "ann").share
    system.settle()

    record, feed = _record(system, packet, "eve"), _feed(system, packet)

    assert packet.amounts_shown is AmountsShown.END
    assert (record["claimed_count"], record["claimed_fen"], feed["claimed_fen"]) == (1, None, None)
    assert claim.amount_fen not in _numbers([record["claims"], feed["claims"]])


def test_hidden_amounts_do_not_affect_the_etag_of_a_page(system: InMemorySystem) -> None:
    """The pages of two packets that differ only in amounts must be equal."""
    pages = []
    for unit_fen in (1, 100):
        packet = system.send(count=3, total_fen=30_000, unit_fen=unit_fen, **HIDDEN)
        system.grab(packet, "ann")
        page = _feed(system, packet)
        pages.append(
            {**page, "packet_id": "", "claims": [{**page["claims"][0], "claimed_at_ms": 0}]}
        )

    tags = {hashlib.sha256(json.dumps(page, sort_keys=True).encode()).hexdigest() for page in pages}
    assert len(tags) == 1


def test_a_chat_packet_shows_amounts_and_a_campaign_packet_follows_its_campaign(
    system: InMemorySystem,
) -> None:
    def sent(campaign_says: AmountsShown | None, packet_says: AmountsShown | None) -> AmountsShown:
        campaign = None
        if campaign_says:
            campaign = system.rain(amounts_shown=campaign_says)
        return system.send(campaign=campaign, amounts_shown=packet_says).amounts_shown

    live, end = AmountsShown
    assert (sent(None, None), sent(None, end)) == (live, end)
    assert (sent(end, None), sent(live, None)) == (end, live)
    assert (sent(end, live), sent(live, end)) == (live, end)


def test_a_campaign_hides_amounts_by_default() -> None:
    body = {"title": "Rain", "starts_at_ms": 1, "ends_at_ms": 2, "status": "on"}

    assert parse(CampaignBody, body).plan("rain").amounts_shown is AmountsShown.END
    live = parse(CampaignBody, {**body, "amounts_shown": "live"})
    assert live.plan("rain").amounts_shown is AmountsShown.LIVE
    with pytest.raises(InvalidRequest):
        parse(CampaignBody, {**body, "amounts_shown": "never"})
