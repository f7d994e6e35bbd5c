"""Suite for shares, packet rows and work lists, on the fake and on the AWS emulator."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from redpacket.ledger.dynamodb import keys
from redpacket.packets.model.claim import Claimer, RecordStatus, Share, ShareRef, claimer_of
from redpacket.packets.model.packet import Packet, PacketEnd, PacketStatus, partition_count
from redpacket.packets.ports import Unreadable
from redpacket.platform.dynamodb.client import to_wire
from redpacket.platform.errors import InvalidRequest
from redpacket.platform.user import User
from testing.builders import NOW_MS, a_claim, a_packet_id, a_user_id, list_shares
from tests.contract.tables import PAID_MS, REFUNDED_MS, Books, a_client, a_settlement, some_books

LONG_AGO_MS = NOW_MS - 400 * 86_400_000
"""Time in 2025."""


# ---- claims


def test_a_claim_is_recorded_once(books: Books) -> None:
    packet = books.sent()
    share = books.claimed(packet, 1, "ann")

    again = books.claims.record_claim(replace(share, decided_at_ms=NOW_MS + 999))

    assert again is RecordStatus.USER_HAS_SHARE
    assert books.packets.find_share_of(packet.packet_id, "ann") == share
    assert books.packets.find_claimer(packet.packet_id, "ann") == claimer_of(share)


def test_a_recorded_claim_is_read_unchanged(books: Books) -> None:
    packet = books.sent()
    claimer = User(a_user_id(), "阿明")

    share = books.claimed(packet, 3, claimer.user_id, claimer=claimer, is_last=True)

    assert books.packets.list_refs([share.ref]) == [share]


def test_a_share_belongs_to_the_first_user_who_recorded_it(books: Books) -> None:
    packet = books.sent()
    share = books.claimed(packet, 1, "ann")

    assert books.claims.record_claim(a_claim(packet, 1, "bob")) == "share_taken"

    assert books.packets.find_share_of(packet.packet_id, "bob") is None
    assert books.packets.find_claimer(packet.packet_id, "bob") is None
    assert list_shares(books.packets, packet.packet_id) == [share]


def test_a_user_with_a_share_gets_no_second_one(books: Books) -> None:
    packet = books.sent()
    books.claimed(packet, 2, "ann")

    second = books.claims.record_claim(a_claim(packet, 3, "ann"))

    assert second is RecordStatus.USER_HAS_SHARE
    assert [share.share_no for share in list_shares(books.packets, packet.packet_id)] == [2]


def test_a_paid_claim_is_not_overwritten(books: Books) -> None:
    packet = books.sent()
    share = books.settled(packet, 1, "ann")

    assert books.claims.record_claim(a_claim(packet, 1, "bob")) == "share_taken"

    assert list_shares(books.packets, packet.packet_id) == [share]


def test_a_refunded_share_cannot_be_claimed(books: Books) -> None:
    packet = books.sent()
    assert books.refunded(packet, 1, 2)

    assert books.claims.record_claim(a_claim(packet, 2, "ann")) == "share_refunded"


def test_claimers_are_listed_with_their_shares(books: Books) -> None:
    packet = books.sent()
    share = books.claimed(packet, 2, "ann")

    claimers = books.packets.list_claimers(packet.packet_id, ["ann", "bob", "ann"])

    assert claimers == [Claimer(packet.packet_id, "ann", 2, share.amount_fen, share.decided_at_ms)]
    assert books.packets.list_claimers(packet.packet_id, []) == []


def test_more_than_a_hundred_claimers_are_read_in_calls_of_allowed_size(books: Books) -> None:
    packet = books.sent()
    books.claimed(packet, 1, "user-x250")
    everybody = [f"user-x{number}" for number in range(251)]

    claimers = books.packets.list_claimers(packet.packet_id, everybody)

    assert [claimer.user_id for claimer in claimers] == ["user-x250"]


# ---- lists of outcomes


def test_outcomes_are_listed_in_order(books: Books) -> None:
    packet = books.sent()
    for share_no in (3, 1):
        books.claimed(packet, share_no)

    listed = list_shares(books.packets, packet.packet_id)
    named = books.packets.list_refs([ShareRef(packet.packet_id, n) for n in (1, 2, 3, 3)])

    assert [share.share_no for share in listed] == [1, 3]
    assert {share.share_no for share in named} == {1, 3}
    assert books.packets.list_refs([]) == []


def test_outcomes_of_a_sharded_packet_are_listed_by_shard_and_together(books: Books) -> None:
    packet = books.sent(count=20, shards=2)
    for share_no in (4, 11, 1, 2, 9):
        books.claimed(packet, share_no)

    odd, even = (books.packets.list_shard_shares(packet.packet_id, part) for part in (0, 1))
    listed = list_shares(books.packets, packet.packet_id)
    unsettled = books.work.list_unsettled(NOW_MS + 5000, 8_000)

    assert [share.share_no for share in odd] == [1, 9, 11]
    assert [share.share_no for share in even] == [2, 4]
    assert [share.share_no for share in listed] == [1, 2, 4, 9, 11]
    assert {share.ref for share in listed} <= set(unsettled)
    assert books.claims.record_claim(a_claim(packet, 4, "dan")) == "share_taken"


@pytest.mark.parametrize("shards", [1, 2])
def test_outcomes_after_a_given_share_are_read_page_by_page(books: Books, shards: int) -> None:
    packet = books.sent(count=20, shards=shards)
    for share_no in (4, 10, 2, 8):
        books.claimed(packet, share_no)
    part = shards - 1

    shares = books.packets.scan_shard_shares(packet.packet_id, part, 4)
    everything = books.packets.scan_shard_shares(packet.packet_id, part)

    assert sorted(share.share_no for share in shares) == [8, 10]
    assert sorted(share.share_no for share in everything) == [2, 4, 8, 10]
    assert list(books.packets.scan_shard_shares(packet.packet_id, part, 10)) == []


def _paged(books: Books, packet_id: str, limit: int) -> tuple[list[list[Share]], list[int | None]]:
    """Return all pages of a packet's shares, and the cursors between them."""
    pages: list[list[Share]] = []
    cursors: list[int | None] = []
    after_no: int | None = 0
    while after_no is not None:
        page, after_no = books.packets.list_some_shares(packet_id, after_no, limit)
        pages.append(page)
        cursors.append(after_no)
        assert len(page) <= limit
        assert len(pages) < 50
    return pages, cursors


def test_outcomes_are_paged_by_number(books: Books) -> None:
    packet = books.sent(count=8)
    for share_no in (1, 2, 4, 7):
        books.claimed(packet, share_no)

    def paged(limit: int) -> tuple[list[list[int]], list[int | None]]:
        pages, cursors = _paged(books, packet.packet_id, limit)
        return [[share.share_no for share in page] for page in pages], cursors

    assert paged(1) == ([[1], [2], [4], [7]], [1, 2, 4, None])
    assert paged(3) == ([[1, 2, 4], [7]], [4, None])
    assert paged(4) == paged(9) == ([[1, 2, 4, 7]], [None])


def test_outcomes_of_a_sharded_packet_are_paged_by_partition(books: Books) -> None:
    packet = books.sent(count=30, shards=2)
    partitions = partition_count(packet.packet_id)
    assert partitions == 16
    taken = (1, 9, 17, 25, 3, 4, 12, 20, 8, 16)
    for share_no in taken:
        books.claimed(packet, share_no)

    for limit in (1, 2, 3, 5, 7, 8, 100):
        pages, cursors = _paged(books, packet.packet_id, limit)
        share_nos = [share.share_no for page in pages for share in page]
        assert share_nos == sorted(taken, key=lambda number: ((number - 1) % partitions, number))
        assert cursors[-1] is None
        assert len(cursors) == len(set(cursors))


def test_a_page_reads_few_empty_partitions_and_the_next_one_continues_there(books: Books) -> None:
    packet = books.sent(count=30, shards=2)
    books.claimed(packet, 8)
    empty = books.sent(count=30, shards=2)

    pages, cursors = _paged(books, packet.packet_id, 5)

    assert [[share.share_no for share in page] for page in pages] == [[], [8], []]
    assert cursors == [-6, -12, None]
    assert _paged(books, empty.packet_id, 5) == ([[], [], []], [-6, -12, None])
    assert _paged(books, a_packet_id(), 5) == ([[]], [None])


def test_a_page_that_ends_with_its_partitions_returns_the_start_of_the_next(books: Books) -> None:
    packet = books.sent(count=30, shards=2)
    books.claimed(packet, 6)
    books.claimed(packet, 7)

    pages, cursors = _paged(books, packet.packet_id, 1)

    assert [[share.share_no for share in page] for page in pages] == [[6], [7], []]
    assert cursors == [-6, -12, None]


# ---- the end of packets


def test_only_an_expired_packet_begins_to_close(books: Books) -> None:
    packet = books.sent()

    early = books.packets.begin_close(packet, packet.expires_at_ms - 1)
    at_its_end = books.packets.begin_close(packet, packet.expires_at_ms)

    assert early == packet
    assert at_its_end == replace(packet, status=PacketStatus.CLOSING)


def test_closing_can_begin_again(books: Books) -> None:
    packet = books.sent()

    first = books.packets.begin_close(packet, REFUNDED_MS)
    second = books.packets.begin_close(packet, REFUNDED_MS + 5)

    assert first == second
    assert first.status is PacketStatus.CLOSING


def test_an_unknown_packet_does_not_close(books: Books) -> None:
    packet = books.sent()

    with pytest.raises(LookupError):
        books.packets.begin_close(replace(packet, packet_id=a_packet_id()), REFUNDED_MS)


def _closed(books: Books, packet: Packet) -> PacketEnd:
    assert books.refunded(packet, *range(1, packet.terms.count + 1))
    end = books.ended(packet)
    assert books.ledger.close(packet, end, REFUNDED_MS)
    return end


def test_a_closed_packet_stays_closed(books: Books) -> None:
    packet = books.sent()
    books.packets.begin_close(packet, REFUNDED_MS)
    end = _closed(books, packet)
    books.packets.mark_step(replace(packet, closing_step=1))
    books.packets.mark_loaded(packet)

    again = books.packets.begin_close(packet, REFUNDED_MS + 5)

    assert again == replace(packet, status=PacketStatus.CLOSED, closed_at_ms=REFUNDED_MS, end=end)
    assert packet.packet_id not in books.work.list_due(REFUNDED_MS + 5, 8_000)
    assert packet.packet_id not in books.work.list_unloaded(REFUNDED_MS + 5, 8_000)


def test_an_empty_open_packet_closes_before_its_end(books: Books) -> None:
    packet = books.sent(count=2)
    books.packets.mark_loaded(packet)
    for share_no in (1, 2):
        books.settled(packet, share_no)

    assert books.ledger.close(packet, books.ended(packet), PAID_MS)

    assert packet.packet_id not in books.work.list_due(REFUNDED_MS, 8_000)
    assert books.packets.begin_close(packet, REFUNDED_MS).is_emptied


def test_steps_are_noted_only_while_a_packet_closes(books: Books) -> None:
    packet = books.sent(count=20, shards=2)
    books.packets.mark_step(replace(packet, closing_step=3))
    assert books.packets.find_packet(packet.packet_id) == packet

    closing = books.packets.begin_close(packet, REFUNDED_MS)
    books.packets.mark_step(replace(closing, closing_step=1, closing_no=7))

    there = replace(closing, closing_step=1, closing_no=7)
    assert books.packets.find_packet(packet.packet_id) == there


def test_the_end_of_a_shard_is_written_once(books: Books) -> None:
    packet, other = (books.sent(count=20, shards=2) for _ in range(2))
    luckiest = Claimer(packet.packet_id, a_user_id(), 3, 120, NOW_MS + 7)
    first = PacketEnd(4, 400, 6, 600, REFUNDED_MS, NOW_MS, luckiest)
    second = PacketEnd(10, 1000, last_claimed_at_ms=NOW_MS)
    assert books.packets.list_shard_ends(packet.packet_id) == []

    books.packets.put_shard_end(packet.packet_id, 1, second)
    books.packets.put_shard_end(packet.packet_id, 0, first)
    books.packets.put_shard_end(packet.packet_id, 0, second)
    books.packets.put_shard_end(other.packet_id, 0, second)

    assert books.packets.list_shard_ends(packet.packet_id) == [first, second]
    assert books.packets.find_packet(packet.packet_id) == packet


# ---- work lists


def test_a_packet_waits_for_its_load_and_then_for_its_end(books: Books) -> None:
    packet = books.sent()
    later_ms = packet.expires_at_ms + 1

    assert packet.packet_id in books.work.list_unloaded(NOW_MS, 8_000)
    assert packet.packet_id not in books.work.list_due(later_ms, 8_000)
    books.packets.mark_loaded(packet)
    assert packet.packet_id not in books.work.list_unloaded(NOW_MS, 8_000)
    assert packet.packet_id not in books.work.list_due(packet.expires_at_ms - 1, 8_000)
    assert packet.packet_id in books.work.list_due(later_ms, 8_000)


def test_a_packet_that_cannot_be_closed_moves_to_the_end_of_the_list(books: Books) -> None:
    packet = books.sent()

    books.packets.begin_close(packet, REFUNDED_MS + 5)

    assert packet.packet_id not in books.work.list_due(REFUNDED_MS + 4, 8_000)
    assert packet.packet_id in books.work.list_due(REFUNDED_MS + 5, 8_000)
    assert packet.packet_id not in books.work.list_unloaded(REFUNDED_MS + 5, 8_000)


def test_a_delayed_packet_waits_at_least_for_the_delay(books: Books) -> None:
    packet = books.sent()
    books.packets.mark_loaded(packet)
    at_ms = packet.expires_at_ms

    books.work.delay(packet.packet_id, at_ms - 1)
    assert packet.packet_id not in books.work.list_due(at_ms - 1, 8_000)
    books.work.delay(packet.packet_id, at_ms + 50)
    assert packet.packet_id not in books.work.list_due(at_ms + 49, 8_000)
    assert packet.packet_id in books.work.list_due(at_ms + 50, 8_000)
    _closed(books, packet)
    books.work.delay(packet.packet_id, at_ms + 60)
    assert packet.packet_id not in books.work.list_due(at_ms + 99, 8_000)


def test_a_row_that_is_set_aside_is_found_only_after_the_delay(books: Books) -> None:
    packet = books.sent()
    share = books.claimed(packet, 1)
    at_ms = share.decided_at_ms

    with _a_stray(books, at_ms) as stray:

        def listed(until_ms: int) -> set[object]:
            return {stray, share.ref} & set(books.work.list_unsettled(until_ms, 8_000))

        assert listed(at_ms) == {stray, share.ref}
        books.work.set_aside(stray, at_ms + 50)
        books.work.set_aside(share.ref, at_ms + 60)
        assert listed(at_ms + 49) == set()
        assert listed(at_ms + 50) == {stray}
        assert listed(at_ms + 60) == {stray, share.ref}

    books.work.set_aside(share.ref, at_ms)
    assert share.ref not in listed(at_ms + 59)
    books.ledger.settle([a_settlement(share)], PAID_MS)
    books.work.set_aside(share.ref, at_ms + 70)
    assert share.ref not in listed(at_ms + 99)


@contextmanager
def _a_stray(books: Books, at_ms: int) -> Iterator[Unreadable]:
    """Put a row that is not a share into the work list, as an attacker could."""
    stray = Unreadable(a_user_id("stray"), "row")
    row: dict[str, str | int] = {
        "pk": stray.pk,
        "sk": stray.sk,
        "work_pk": keys.work("settle", 0),
        "work_at_ms": at_ms,
    }
    books.client.put_item(TableName="shares", Item=to_wire(row))
    try:
        yield stray
    finally:
        books.client.delete_item(TableName="shares", Key=to_wire({"pk": stray.pk, "sk": stray.sk}))


def test_a_claim_waits_until_it_is_settled(books: Books) -> None:
    packet = books.sent()
    share = books.claimed(packet, 1)

    assert share.ref in books.work.list_unsettled(share.decided_at_ms, 8_000)
    books.packets.mark_requeued(share, share.decided_at_ms + 50)
    assert share.ref not in books.work.list_unsettled(share.decided_at_ms + 49, 8_000)
    assert books.packets.list_refs([share.ref]) == [replace(share, requeued_count=1)]
    books.ledger.settle([a_settlement(share)], PAID_MS)
    assert share.ref not in books.work.list_unsettled(share.decided_at_ms + 99, 8_000)
    (settled,) = books.packets.list_refs([share.ref])
    books.packets.mark_requeued(settled, share.decided_at_ms)
    assert share.ref not in books.work.list_unsettled(share.decided_at_ms + 99, 8_000)
    assert books.packets.list_refs([share.ref]) == [settled]


def test_a_last_claim_waits_for_the_end_of_its_packet_once_it_is_settled(books: Books) -> None:
    packet = books.sent()
    share = books.claimed(packet, 4, is_last=True)
    at_ms = share.decided_at_ms

    books.packets.mark_done(share)
    assert share.ref in books.work.list_unsettled(at_ms, 8_000)
    books.ledger.settle([a_settlement(share)], PAID_MS)
    assert share.ref in books.work.list_unsettled(at_ms, 8_000)
    (settled,) = books.packets.list_refs([share.ref])
    books.packets.mark_requeued(settled, at_ms + 50)
    assert share.ref not in books.work.list_unsettled(at_ms + 49, 8_000)
    assert share.ref in books.work.list_unsettled(at_ms + 50, 8_000)
    books.packets.mark_done(settled)
    assert share.ref not in books.work.list_unsettled(at_ms + 99, 8_000)
    books.packets.mark_requeued(settled, at_ms)
    assert share.ref not in books.work.list_unsettled(at_ms + 99, 8_000)


@pytest.fixture(params=["fake", "moto"])
def own_books(request: pytest.FixtureRequest) -> Iterator[Books]:
    """Yield a ledger without other tests' work."""
    with a_client(request.param, request) as client:
        yield some_books(client)


def test_a_sender_of_many_due_packets_gets_the_capacity_that_others_leave_in_a_sweep(
    own_books: Books,
) -> None:
    sender = User(a_user_id("sender"))
    own_books.deposited(sender.user_id, 70 * 4)
    many = [own_books.sent(4, sender=sender, created_at_ms=NOW_MS + at) for at in range(70)]
    # Each sender needs a separate work shard: senders in one shard share its part of a sweep.
    shards = {keys.work_shard(sender.user_id): sender}
    while len(shards) < 4:
        other = User(a_user_id("other"))
        shards.setdefault(keys.work_shard(other.user_id), other)
    _, *apart = shards.values()
    for other in apart:
        own_books.deposited(other.user_id, 1_000)
    others = [own_books.sent(sender=other) for other in apart]
    for packet in (*many, *others):
        own_books.packets.mark_loaded(packet)

    due = own_books.work.list_due(REFUNDED_MS, 64)
    rest = own_books.work.list_due(REFUNDED_MS, 640)

    assert {packet.packet_id for packet in others} <= set(due)
    assert 60 <= len(due) == len(set(due)) <= 64
    assert set(due) - {packet.packet_id for packet in others} <= {
        packet.packet_id for packet in many[:64]
    }
    assert len(rest) == len(set(rest)) == 73


# ---- sent packets


def _sent_at(books: Books, *times_ms: int) -> tuple[str, list[Packet]]:
    sender = User(a_user_id("sender"))
    books.deposited(sender.user_id, 1000 * len(times_ms))
    packets = []
    for at_ms in times_ms:
        changes: dict[str, Any] = {
            "packet_id": a_packet_id(),
            "sender": sender,
            "created_at_ms": at_ms,
        }
        packets.append(books.sent(**changes))
    return sender.user_id, packets


def test_sent_packets_are_paged_newest_first(books: Books) -> None:
    user_id, packets = _sent_at(books, *(NOW_MS + at for at in (1, 2, 2, 3, 9)))
    packet_ids: list[str] = []
    cursor, limits = None, [2, 2, 2]

    for limit in limits:
        page, cursor = books.packets.list_sent(user_id, None, cursor, limit)
        packet_ids += [item.packet_id for item in page]

    assert cursor is None
    newest = sorted(
        packets, key=lambda packet: (packet.created_at_ms, packet.packet_id), reverse=True
    )
    assert packet_ids == [packet.packet_id for packet in newest]
    whole, end = books.packets.list_sent(user_id, None, None, 5)
    assert (len(whole), end) == (5, None)
    assert (whole[0].total_fen, whole[0].at_ms) == (1000, NOW_MS + 9)


def test_sent_packets_are_listed_by_year(books: Books) -> None:
    user_id, (old, new, newest) = _sent_at(books, LONG_AGO_MS, NOW_MS, NOW_MS + 1)

    def listed(year: int | None, cursor: str | None = None) -> list[str]:
        return [item.packet_id for item in books.packets.list_sent(user_id, year, cursor, 9)[0]]

    _, after_newest = books.packets.list_sent(user_id, 2026, None, 1)

    assert after_newest
    assert listed(2026) == [newest.packet_id, new.packet_id]
    assert listed(2026, after_newest) == [new.packet_id]
    assert listed(2025) == [old.packet_id]
    # The newest packets come first: a cursor of 2026 precedes all of 2025 and follows all of 2027.
    assert listed(2025, after_newest) == [old.packet_id]
    assert listed(2027, after_newest) == []
    assert listed(2024) == []
    assert listed(None) == [newest.packet_id, new.packet_id, old.packet_id]


def test_a_cursor_of_another_list_is_refused(books: Books) -> None:
    for cursor in ("", "x", "123#packet", "1795000000000#", "1795000000000#a b"):
        with pytest.raises(InvalidRequest):
            books.packets.list_sent("ann", None, cursor, 9)
