from dataclasses import replace
from typing import Any

import pytest

from redpacket.packets.dynamodb.packets import DynamoPackets
from redpacket.packets.dynamodb.pages import DynamoPages
from redpacket.packets.errors import PacketNotFound
from redpacket.packets.model.claim import Quota, Share
from redpacket.packets.model.packet import Opening, Packet, PacketStatus, Rules, partition_count
from redpacket.packets.use_cases.read_records import Record, list_sent, read_record
from redpacket.platform.dynamodb.client import Dynamo
from redpacket.platform.user import User
from testing.builders import NOW_MS, a_claim, a_packet, list_shares
from testing.in_memory_system import LIFE_MS, InMemorySystem, one_by_one, process_on
from testing.platform.fake_tables import TABLE_NAMES
from testing.platform.units import MeteredDynamo

ANN = User("ann")


def _read(
    system: InMemorySystem,
    packet: Packet,
    after_no: int = 0,
    limit: int = 100,
    viewer: User | None = ANN,
) -> Record:
    return read_record(
        packet.packet_id,
        viewer,
        after_no=after_no,
        limit=limit,
        packets=system.packets,
        pages=system.pages,
    )


def _all_claims(system: InMemorySystem, packet: Packet, limit: int) -> list[Share]:
    page = _read(system, packet, 0, limit)
    claims = list(page.claims)
    while page.next_no is not None:
        page = _read(system, packet, page.next_no, limit)
        assert len(page.claims) <= limit
        claims += page.claims
    return claims


@pytest.mark.parametrize("shards", [1, 3])
def test_pages_show_every_claim_once_in_order(system: InMemorySystem, shards: int) -> None:
    packet = system.send_in_shards(shards, count=600)
    claims = [system.grab(packet, f"user-{number}").share for number in range(70)]

    shown = _all_claims(system, packet, limit=25)

    # The order is by partition, then by number; a packet without shards has only one partition.
    partitions = partition_count(packet.packet_id)
    place = {share.ref: ((share.share_no - 1) % partitions, share.share_no) for share in claims}
    assert shown == sorted(claims, key=lambda share: place[share.ref])


@pytest.mark.parametrize("limit", [7, 50, 100])
@pytest.mark.parametrize("shards", [1, 3])
def test_final_pages_show_the_same_as_open_ones(
    system: InMemorySystem, shards: int, limit: int
) -> None:
    packet = system.send_in_shards(shards, count=600)
    for number in range(130):
        system.grab(packet, f"user-{number}")
    system.settle()
    before = _all_claims(system, packet, limit)
    system.pass_time(61_000)
    system.expire()

    shown = _all_claims(system, packet, limit)

    names = [(share.ref, share.amount_fen, share.claimer, share.decided_at_ms) for share in before]
    assert names == [
        (share.ref, share.amount_fen, share.claimer, share.decided_at_ms) for share in shown
    ]


@pytest.mark.parametrize("shards", [1, 3])
def test_the_record_of_a_closed_packet_has_its_totals_and_the_luckiest(
    system: InMemorySystem, shards: int
) -> None:
    packet = system.send_in_shards(shards, count=30)
    claims = system.grab_all(packet, "ann", "bob", "cat")
    system.settle()
    assert _read(system, packet).luckiest is None
    system.pass_time(61_000)
    system.expire()

    record = _read(system, packet)

    assert (record.status, record.claimed_count) == ("closed", 3)
    assert record.claimed_fen == sum(share.amount_fen for share in claims)
    assert record.packet.end
    assert record.claimed_fen + record.packet.end.refunded_fen == packet.terms.total_fen
    assert record.mine
    assert record.mine.ref == claims[0].ref
    assert record.luckiest
    assert record.luckiest.amount_fen == max(share.amount_fen for share in claims)


@pytest.mark.parametrize("shards", [1, 3])
def test_a_record_of_an_emptied_packet_has_its_time_to_empty(
    system: InMemorySystem, shards: int
) -> None:
    packet = system.send_in_shards(shards, count=6)
    system.pass_time(500)
    for number in range(6):
        system.grab(packet, f"user-{number}")
    system.settle()

    record = _read(system, packet)

    assert (record.status, record.claimed_count, record.emptied_in_ms) == ("emptied", 6, 500)
    assert record.claimed_fen == packet.terms.total_fen


@pytest.mark.parametrize(
    ("times", "emptied_in_ms"),
    [
        ({}, 500),
        ({"created_at_ms": -9_000}, 500),
        ({"starts_at_ms": 100}, 400),
        ({"payment_id": "p1", "paid_at_ms": 200}, 300),
        ({"payment_id": "p1", "paid_at_ms": 200, "starts_at_ms": 300}, 200),
        ({"starts_at_ms": 501}, 0),
    ],
)
def test_the_time_to_empty_counts_from_the_first_possible_grab(
    system: InMemorySystem,
    monkeypatch: pytest.MonkeyPatch,
    times: dict[str, Any],
    emptied_in_ms: int | None,
) -> None:
    packet = system.send(count=2)
    system.pass_time(500)
    for user in ("ann", "bob"):
        system.grab(packet, user)
    system.settle()
    stored = system.pages.get_eventually_consistent(packet.packet_id)
    assert stored
    moved = {name: at if name == "payment_id" else NOW_MS + at for name, at in times.items()}
    monkeypatch.setattr(
        system.pages, "get_eventually_consistent", lambda _: replace(stored, **moved)
    )

    assert _read(system, packet).emptied_in_ms == emptied_in_ms


def test_a_sharded_packet_counts_its_settled_claims(system: InMemorySystem) -> None:
    packet = system.send_in_shards(3, count=30)
    first = system.grab(packet, "ann").share
    system.settle()
    system.grab(packet, "bob")

    record = _read(system, packet)

    assert (record.claimed_count, record.claimed_fen) == (1, first.amount_fen)
    assert len(record.claims) == 2


def test_an_emptied_packet_stays_emptied_for_users_regardless_of_its_row(
    system: InMemorySystem,
) -> None:
    packet = system.send(count=2)
    system.grab_all(packet, "ann", "bob")
    assert _read(system, packet).status == "emptied"
    system.settle()
    assert _read(system, packet).status == "emptied"

    system.pass_time(61_000)
    system.expire()

    assert _read(system, packet).status == "emptied"


def test_the_own_claim_of_the_viewer_is_on_every_page(system: InMemorySystem) -> None:
    packet = system.send_in_shards(1, count=300)
    shares = {user: system.grab(packet, user).share for user in ("bob", "cat", "ann")}
    system.settle()

    pages = [_read(system, packet, after_no, 1) for after_no in (0, 1, 2)]
    system.pass_time(61_000)
    system.expire()
    pages += [_read(system, packet, after_no, 1) for after_no in (0, 1, 2)]

    assert [page.mine and page.mine.ref for page in pages] == [shares["ann"].ref] * 6


@pytest.mark.parametrize(("is_final", "units_max"), [(False, 9), (True, 4)])
@pytest.mark.parametrize("per_partition", [1, 17, 21, 60])
@pytest.mark.parametrize("shards", [1, 2])
def test_a_page_reads_few_units_for_any_distribution_of_claims(
    system: InMemorySystem, shards: int, per_partition: int, *, is_final: bool, units_max: float
) -> None:
    packet = system.send_in_shards(shards, count=1_000, total_fen=100_000)
    partitions = partition_count(packet.packet_id)
    quota = Quota(packet.rules.campaign_id or "", 1)
    claimed = [number for number in range(1, 1_001) if (number - 1) // partitions < per_partition]
    for number in claimed:
        claimer = User(f"5f0c8f5e-{number:04d}-4b1e-9a53-0c4a3d2f1b6a", "恭喜发财大吉")
        system.recorder.record_claim(a_claim(packet, number, "", claimer=claimer), quota)
    if is_final:
        shares = list_shares(system.packets, packet.packet_id)
        system.settle([share.ref for share in shares])
        system.pass_time(61_000)
        system.expire()
    meter = MeteredDynamo(system.dynamo)
    system.stand_on(meter)
    system.pages = DynamoPages(Dynamo(lambda: meter, TABLE_NAMES))
    viewer = User(f"5f0c8f5e-{claimed[-1]:04d}-4b1e-9a53-0c4a3d2f1b6a")

    for limit in (50, 100):
        shown: list[int] = []
        after_no: int | None = 0
        while after_no is not None:
            meter.forget()
            page = _read(system, packet, after_no, limit, viewer)
            assert meter.units <= units_max
            assert page.mine
            shown += [share.share_no for share in page.claims]
            after_no = page.next_no
        assert sorted(shown) == claimed


def test_an_unsent_packet_has_no_record(system: InMemorySystem) -> None:
    with pytest.raises(PacketNotFound):
        _read(system, a_packet())


@pytest.mark.parametrize("opening", list(Opening))
@pytest.mark.parametrize("is_closed", [False, True])
def test_an_exclusive_packet_is_shown_to_its_sender_and_recipients_only(
    system: InMemorySystem, opening: Opening, *, is_closed: bool
) -> None:
    rules = Rules(opening, recipients=frozenset({"ann", "bob"}))
    packet = system.send(count=2, rules=rules)
    if is_closed:
        system.pass_time(2 * LIFE_MS)
        system.expire()

    for viewer in ("sender", "ann", "bob"):
        assert _read(system, packet, viewer=User(viewer)).packet.packet_id == packet.packet_id
    for stranger in (User("eve"), User("an"), None):
        with pytest.raises(PacketNotFound):
            _read(system, packet, viewer=stranger)


def test_a_page_of_sent_packets_takes_at_most_23_reads(system: InMemorySystem) -> None:
    packets = [system.send("ann", count=100 + number % 2) for number in range(20)]
    for packet in packets:
        system.grab(packet, "bob")
    system.settle()
    meter = MeteredDynamo(system.dynamo)
    dynamo = Dynamo(lambda: meter, TABLE_NAMES)

    page = list_sent(
        "ann",
        None,
        None,
        packets=DynamoPackets(dynamo),
        pages=DynamoPages(dynamo),
        ledger=process_on(dynamo).ledger,
        in_parallel=one_by_one,
    )

    assert {(sent.status, sent.claimed_count) for sent in page.items} == {(PacketStatus.OPEN, 1)}
    assert all(sent.claimed_fen for sent in page.items)
    rows = [read for read in meter.reads if read.table == "packets"]
    # The list, 20 rows in one batch, and the sums of 10 large packets; and one query per small
    # packet.
    assert len(rows) == 1 + 20 + 10
    assert len([read for read in meter.reads if read.table == "shares"]) == 10
    assert len(meter.reads) == 31 + 10 + 1
