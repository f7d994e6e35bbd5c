from __future__ import annotations

import pytest

from redpacket.domain.claim import ShareFate
from redpacket.domain.errors import PacketNotFound
from redpacket.domain.packet import Packet
from redpacket.flows.read_records import Record, read_record
from tests.builders import a_packet
from tests.town import Town


def _read(town: Town, packet: Packet, after_no: int = 0, limit: int = 100) -> Record:
    return read_record(
        packet.packet_id,
        "ann",
        after_no=after_no,
        limit=limit,
        packets=town.packets,
        ledger=town.ledger,
    )


def _all_claims(town: Town, packet: Packet, limit: int) -> list[ShareFate]:
    page = _read(town, packet, 0, limit)
    claims = list(page.claims)
    while page.next_no is not None:
        page = _read(town, packet, page.next_no, limit)
        assert len(page.claims) <= limit
        claims += page.claims
    return claims


@pytest.mark.parametrize("parts", [1, 3])
def test_pages_show_every_claim_once_in_order(town: Town, parts: int) -> None:
    packet = town.send_in_parts(parts, count=600)
    claims = [town.grab(packet, f"user-{number}").share for number in range(70)]

    shown = _all_claims(town, packet, limit=25)

    assert shown == sorted(claims, key=lambda share: share.share_no)


@pytest.mark.parametrize("parts", [1, 3])
def test_a_record_of_a_packet_that_is_closed_has_its_totals_and_the_luckiest(
    town: Town, parts: int
) -> None:
    packet = town.send_in_parts(parts, count=30)
    claims = [town.grab(packet, user).share for user in ("ann", "bob", "cat")]
    town.settle()
    assert _read(town, packet).luckiest is None
    town.pass_time(61_000)
    town.expire()

    record = _read(town, packet)

    assert (record.status, record.claimed_count) == ("closed", 3)
    assert record.claimed_fen == sum(share.amount_fen for share in claims)
    assert record.claimed_fen + record.packet.refunded_fen == packet.terms.total_fen
    assert record.mine
    assert record.mine.ref == claims[0].ref
    assert record.luckiest
    assert record.luckiest.amount_fen == max(share.amount_fen for share in claims)


@pytest.mark.parametrize("parts", [1, 3])
def test_a_record_of_a_packet_that_is_emptied_says_in_what_time(town: Town, parts: int) -> None:
    packet = town.send_in_parts(parts, count=6)
    town.pass_time(500)
    for number in range(6):
        town.grab(packet, f"user-{number}")
    town.settle()

    record = _read(town, packet)

    assert (record.status, record.claimed_count, record.emptied_in_ms) == ("emptied", 6, 500)
    assert record.claimed_fen == packet.terms.total_fen


def test_of_a_packet_in_parts_the_settled_claims_are_counted(town: Town) -> None:
    packet = town.send_in_parts(3, count=30)
    first = town.grab(packet, "ann").share
    town.settle()
    town.grab(packet, "bob")

    record = _read(town, packet)

    assert (record.claimed_count, record.claimed_fen) == (1, first.amount_fen)
    assert len(record.claims) == 2


def test_a_page_of_a_large_packet_reads_no_more_than_a_thousand_numbers(town: Town) -> None:
    packet = town.send_in_parts(2, count=2_000)

    assert _read(town, packet).next_no == 1_000
    assert _read(town, packet, 1_000).next_no is None


def test_there_is_no_record_of_a_packet_that_nobody_sent(town: Town) -> None:
    with pytest.raises(PacketNotFound):
        _read(town, a_packet())
