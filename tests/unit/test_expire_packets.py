from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from threading import Lock
from typing import Any

import pytest

from redpacket.adapters import keys
from redpacket.adapters.dynamo.client import Dynamo
from redpacket.adapters.dynamo.packets import DynamoPackets
from redpacket.adapters.redis.parted_claims import PartedBoard
from redpacket.adapters.threads import in_threads
from redpacket.domain.claim import ShareFate
from redpacket.domain.errors import CacheAway, Unavailable
from redpacket.domain.packet import Packet
from redpacket.flows.packets.expire_packets import expire_packets
from redpacket.flows.packets.refund_packet import (
    OPERATIONS_PER_TRANSACTION,
    SHARES_PER_TRANSACTION,
    batches,
)
from tests.builders import a_claim, a_packet
from tests.fakes import FakeBoard, FakeClock
from tests.town import GRACE_MS, LIFE_MS, Town, an_order, one_by_one


class _Reading(DynamoPackets):
    """Notes which parts were read."""

    def __init__(self, dynamo: Dynamo) -> None:
        super().__init__(dynamo, "packets", "shares")
        self.listed: list[int] = []

    def scan_part_shares(self, packet_id: str, part: int, after_no: int = 0) -> Iterator[ShareFate]:
        self.listed.append(part)
        return super().scan_part_shares(packet_id, part, after_no)


class _Away(FakeBoard):
    """A cache that can't be reached."""

    def close(self, packet_id: str) -> None:
        raise CacheAway(packet_id)

    def load(self, packet: Packet, shares: Sequence[ShareFate], part: int | None = None) -> None:
        raise CacheAway(packet.packet_id)

    def load_part(self, *_args: object, **_kwargs: object) -> None:
        raise CacheAway("load_part")


def _status(town: Town, packet: Packet) -> str:
    found = town.packets.find_packet(packet.packet_id)
    assert found
    return found.status


def test_what_nobody_took_goes_back_to_the_fen(town: Town) -> None:
    packet = town.send(total_fen=1000, count=4)
    claim = town.grab(packet, "ann")
    town.settle()
    town.pass_time(61_000)

    report = town.expire()

    assert report.refunded_fen == 1000 - claim.share.amount_fen
    assert report.closed_count == 1
    assert town.balance_fen("sender") == report.refunded_fen
    assert _status(town, packet) == "closed"


def test_sweeping_again_refunds_nothing_more(town: Town) -> None:
    town.send()
    town.pass_time(61_000)
    town.expire()

    again = town.expire()

    assert (again.closed_count, again.refunded_fen) == (0, 0)
    assert town.balance_fen("sender") == 1000


def test_nothing_is_closed_before_its_time(town: Town) -> None:
    packet = town.send()
    town.pass_time(59_999)

    assert town.expire().closed_count == 0
    assert _status(town, packet) == "open"


def test_an_emptied_and_settled_packet_never_reaches_the_sweep(town: Town) -> None:
    packet = town.send(count=1)
    town.grab(packet, "ann")
    town.settle()
    town.pass_time(61_000)

    report = town.expire()

    assert (report.closed_count, report.refunded_fen) == (0, 0)
    assert _status(town, packet) == "closed"


def test_a_packet_with_an_unsettled_claim_stays_closing_until_it_is_settled(town: Town) -> None:
    packet = town.send()
    town.grab(packet, "ann")
    town.pass_time(61_000)

    assert town.expire().closed_count == 0
    assert _status(town, packet) == "closing"
    town.settle()
    assert town.expire().closed_count == 1


def test_the_grace_is_waited_once_for_all_packets(town: Town) -> None:
    for _ in range(3):
        town.send()
    town.pass_time(61_000)
    before_ms = town.clock.now_ms()

    assert town.expire().closed_count == 3

    assert town.clock.now_ms() == before_ms + GRACE_MS


def test_a_large_refund_takes_one_transaction_for_forty_five_shares(town: Town) -> None:
    town.send(total_fen=1000, count=200)
    town.pass_time(61_000)

    town.expire()

    book, _ = town.ledger.list_entries("user:sender", None, 20)
    refunds = [entry for entry in book if entry.kind == "refund"]
    assert len(refunds) == -(-200 // SHARES_PER_TRANSACTION)
    assert town.balance_fen("sender") == 1000


def test_a_sweep_that_runs_out_of_time_is_taken_up_by_the_next(town: Town) -> None:
    packet = town.send(total_fen=1000, count=200)
    town.pass_time(61_000)

    # The time is up when the grace is over.
    report = town.expire(stop_in_ms=GRACE_MS)

    assert (report.closed_count, report.refunded_fen) == (0, 0)
    assert _status(town, packet) == "closing"
    assert town.expire().refunded_fen == 1000


def test_a_sweep_goes_on_with_the_part_where_the_last_one_stopped(town: Town) -> None:
    packet = town.send_in_parts(4, count=400, total_fen=4000)
    claims = [town.grab(packet, f"user-{number}").share for number in range(40)]
    town.settle()
    town.pass_time(61_000)
    town.before_each_transaction(lambda _operations: town.pass_time(1_000))
    town.packets = reading = _Reading(Dynamo(lambda: town.dynamo))

    reports = []
    while _status(town, packet) != "closed":
        reports.append(town.expire(stop_in_ms=GRACE_MS + 2_000))
        assert len(reports) < 20

    # Each part twice, to refund it and to tell the cache, and once more where the time was up.
    assert len(reports) > 3
    assert len(reading.listed) <= 2 * 4 + len(reports)
    assert sum(report.refunded_fen for report in reports) == town.balance_fen("sender")
    assert town.balance_fen("sender") == 4000 - sum(share.amount_fen for share in claims)
    best = max(claims, key=lambda share: (share.amount_fen, -share.decided_at_ms, -share.share_no))
    row = town.packets.find_packet(packet.packet_id)
    assert row
    assert row.end
    assert row.end.luckiest_no == best.share_no
    assert town.differences() == []


def test_a_cache_that_is_away_does_not_keep_any_part_from_its_refund(town: Town) -> None:
    packet = town.send_in_parts(3, count=300, total_fen=3000)
    town.pass_time(61_000)

    known = town.board
    town.board = PartedBoard(_Away(town.clock), clock=town.clock)

    report = town.expire()

    assert (report.refunded_fen, report.closed_count, report.failed_count) == (3000, 0, 0)
    assert _status(town, packet) == "closing"
    town.board = known
    assert town.expire().closed_count == 1


def test_one_broken_packet_does_not_keep_others_from_their_refund() -> None:
    town = Town()
    broken, sound = town.send("broken"), town.send("sound")
    key = keys.packet(broken.packet_id)
    town.dynamo.tables["packets"][key["pk"], key["sk"]]["terms"] = {"S": "nonsense"}
    town.pass_time(61_000)

    report = town.expire()

    assert (report.closed_count, report.failed_count) == (1, 1)
    assert town.ledger.balance_fen("user:sound") == 1000
    assert _status(town, sound) == "closed"


def test_a_fate_that_is_not_worth_its_share_keeps_the_packet_from_closing() -> None:
    town = Town()
    packet = town.send(count=4)
    town.grab(packet, "ann")
    town.settle()
    key = keys.share(packet.packet_id, 1)
    town.dynamo.tables["shares"][key["pk"], key["sk"]]["amount_fen"] = {"N": "1"}
    town.pass_time(61_000)

    report = town.expire()

    assert (report.failed_count, report.closed_count) == (1, 0)
    assert _status(town, packet) == "closing"
    assert {found.rule for found in town.differences()} >= {"I1", "I3"}


def test_a_packet_whose_end_was_moved_after_the_list_was_read_is_left_alone(town: Town) -> None:
    packet = town.send(life_ms=LIFE_MS)
    town.pass_time(61_000)
    key = keys.packet(packet.packet_id)
    later_ms = str(town.clock.now_ms() + LIFE_MS)
    town.dynamo.tables["packets"][key["pk"], key["sk"]]["expires_at_ms"] = {"N": later_ms}

    report = town.expire()

    assert (report.closed_count, report.refunded_fen, report.failed_count) == (0, 0, 0)
    assert _status(town, packet) == "open"


def test_a_cache_that_is_away_delays_the_close_but_not_the_refund(town: Town) -> None:
    packet = town.send()
    town.pass_time(61_000)
    town.board = _Away(town.clock)

    report = town.expire()

    assert (report.refunded_fen, report.closed_count, report.failed_count) == (1000, 0, 0)
    assert town.balance_fen("sender") == 1000
    assert _status(town, packet) == "closing"
    town.board = town.memory
    assert town.expire().closed_count == 1


@pytest.mark.parametrize("parts", [1, 3])
def test_a_packet_that_no_cache_ever_knew_is_refunded_without_one(town: Town, parts: int) -> None:
    known = town.board
    town.board = PartedBoard(_Away(town.clock), clock=town.clock)
    packet = town.send_in_parts(parts, 6) if parts > 1 else town.send(total_fen=6000, count=6)
    town.pass_time(61_000)

    town.expire()
    town.repair()
    report = town.expire()

    assert (report.refunded_fen, report.closed_count) == (6000, 0)
    assert town.balance_fen("sender") == 6000
    town.board = known
    assert town.expire().closed_count == 1
    assert _status(town, packet) == "closed"


def test_a_sweep_that_is_behind_another_one_leaves_a_closed_packet_alone(town: Town) -> None:
    packet = town.send_in_parts(3, 9)
    for number in range(5):
        town.grab(packet, f"user-{number}")
    town.settle()
    town.pass_time(61_000)
    closing = town.packets.begin_close(packet, town.clock.now_ms())
    town.expire()
    closed = town.packets.find_packet(packet.packet_id)

    town.packets.mark_step(replace(closing, closing_step=1))

    assert town.packets.find_packet(packet.packet_id) == closed


def test_a_cache_that_hangs_is_asked_for_one_load_in_a_sweep(town: Town) -> None:
    asked = []

    class Hanging(FakeBoard):
        def load(
            self, packet: Packet, shares: Sequence[ShareFate], part: int | None = None
        ) -> None:
            asked.append(packet.packet_id)
            raise CacheAway(packet.packet_id)

    town.board = Hanging(town.clock)
    for _ in range(5):
        town.send(life_ms=2 * LIFE_MS)
    asked.clear()
    town.pass_time(60_001)

    assert town.repair() == (0, 0)

    assert len(asked) == 1


def test_a_cache_that_hangs_is_asked_once_in_a_sweep(town: Town) -> None:
    asked = []

    class Hanging(FakeBoard):
        def close(self, packet_id: str) -> None:
            asked.append(packet_id)
            raise CacheAway(packet_id)

    for _ in range(5):
        town.send()
    town.pass_time(61_000)
    town.board = Hanging(town.clock)

    report = town.expire()

    assert len(asked) == 1
    assert (report.refunded_fen, report.closed_count, report.failed_count) == (5000, 0, 0)
    assert town.balance_fen("sender") == 5 * 1000


def test_a_packet_that_a_full_cache_refuses_does_not_hold_up_the_others(town: Town) -> None:
    first, *others = [town.send() for _ in range(3)]

    class Full(FakeBoard):
        def load(
            self, packet: Packet, shares: Sequence[ShareFate], part: int | None = None
        ) -> None:
            if packet.packet_id == first.packet_id:
                raise Unavailable("OOM command not allowed")
            super().load(packet, shares, part)

    town.pass_time(61_000)
    town.board = Full(town.clock)

    report = town.expire()

    assert (report.refunded_fen, report.closed_count, report.failed_count) == (3000, 2, 0)
    assert _status(town, first) == "closing"
    assert {_status(town, packet) for packet in others} == {"closed"}
    town.board = town.memory
    assert town.expire().closed_count == 1


def test_a_slot_that_nobody_serves_does_not_hold_up_the_packets_of_others(town: Town) -> None:
    first, *others = [town.send() for _ in range(3)]

    class Gap(FakeBoard):
        def close(self, packet_id: str) -> None:
            if packet_id == first.packet_id:
                raise Unavailable("CLUSTERDOWN Hash slot not served")
            super().close(packet_id)

    town.pass_time(61_000)
    town.board = Gap(town.clock)

    assert town.expire().closed_count == 3
    assert {_status(town, packet) for packet in others} == {"closed"}


def test_a_claim_that_cancels_a_refund_is_paid_and_not_counted_as_refunded(town: Town) -> None:
    packet = town.send(total_fen=1000, count=3)
    share = a_claim(packet, 2, "ann")
    rival, _ = town.adapters(town.dynamo)
    town.pass_time(61_000)

    def claim_share(_operations: list[object]) -> None:
        rival.record_claim(share)

    town.before_first_transaction(claim_share)

    report = town.expire()

    assert report.refunded_fen == 1000 - share.amount_fen
    town.settle([share.ref])
    assert town.expire().closed_count == 1
    assert town.balance_fen("ann") == share.amount_fen


def test_nothing_is_handed_out_in_the_grace_even_where_the_clock_of_the_cache_is_late(
    town: Town,
) -> None:
    late = FakeBoard(FakeClock())  # stands still at the moment of the send
    town.board = town.memory = late
    packet = town.send()
    town.pass_time(61_000)
    asked = []

    class Asking(FakeClock):
        def sleep_ms(self, duration_ms: int) -> None:
            asked.append(late.grab(packet.packet_id, "ann").status.value)
            super().sleep_ms(duration_ms)

    town.clock = Asking(town.clock.now_ms())
    town.expire()

    assert asked == ["packet_expired"]


def test_whoever_has_a_share_hears_so_after_the_close_even_if_the_cache_forgot(
    town: Town,
) -> None:
    packet = town.send()
    claim = town.grab(packet, "ann")
    town.settle()
    # A failover forgot ann just before the end.
    town.memory.boards.clear()
    town.memory.load(packet, [])
    town.pass_time(61_000)
    town.expire()

    assert town.grab(packet, "ann").share.amount_fen == claim.share.amount_fen


def test_a_row_of_no_share_does_not_keep_claims_from_being_queued_again() -> None:
    town = Town()
    packet = town.send()
    claim = town.grab(packet, "ann")
    town.queue.take_all()
    # A thief may update the table of shares.
    key = {"pk": {"S": "x"}, "sk": {"S": "y"}}
    town.dynamo.tables["shares"]["x", "y"] = {
        **key,
        "work_pk": {"S": keys.work("settle", 0)},
        "work_at_ms": {"N": "0"},
    }
    town.pass_time(60_001)

    town.repair()

    assert town.queue.take_all() == [claim.share.ref]


def test_claims_are_queued_again_after_one_two_and_four_minutes(town: Town) -> None:
    packet = town.send(life_ms=3_600_000)
    claim = town.grab(packet, "ann")
    town.queue.take_all()
    requeued_at_min = []

    for minute in range(1, 9):
        town.pass_time(60_000)
        town.repair()
        if town.queue.take_all():
            requeued_at_min.append(minute)

    assert requeued_at_min == [1, 2, 4, 8]
    town.settle([claim.share.ref])
    town.pass_time(3_600_000)
    assert town.repair() == (0, 0)


@pytest.mark.parametrize("claimed_count", [0, 1, 3])
def test_paid_and_refunded_are_the_total(town: Town, claimed_count: int) -> None:
    packet = town.send(total_fen=777, count=4)
    for number in range(claimed_count):
        town.grab(packet, f"user-{number}")
    town.settle()
    town.pass_time(61_000)

    town.expire()

    paid = sum(town.balance_fen(f"user-{number}") for number in range(claimed_count))
    assert paid + town.balance_fen("sender") == 777


def _send_several(town: Town, number: int, **changes: Any) -> list[Packet]:
    """Send small packets of one sender."""
    packets = []
    for key in range(number):
        order = an_order("sender", key=f"several-{key}", **changes)
        town.deposit("sender", order.total_fen)
        packets.append(town.send_order(order))
    return packets


def _refund_transactions(town: Town) -> list[list[dict[str, Any]]]:
    """Note every transaction from now on that changes a balance."""
    noted: list[list[dict[str, Any]]] = []

    def note(operations: list[dict[str, Any]]) -> None:
        tables = {arguments["TableName"] for one in operations for arguments in one.values()}
        if {"shares", "accounts"} <= tables:
            noted.append(operations)

    town.before_each_transaction(note)
    return noted


def test_small_packets_of_one_sender_are_refunded_in_one_transaction(town: Town) -> None:
    packets = _send_several(town, 5, count=10)
    claim = town.grab(packets[0], "ann")
    town.settle()
    town.pass_time(61_000)
    noted = _refund_transactions(town)

    report = town.expire()

    # 10 fates and receipts, and an entry: four packets fill a transaction.
    assert [len(operations) for operations in noted] == [4 * 21 + 1 - 2, 21 + 1]
    assert (report.closed_count, report.failed_count) == (5, 0)
    assert report.refunded_fen == 5000 - claim.share.amount_fen == town.balance_fen("sender")
    assert town.differences(bound_ms=0) == []


def test_a_claim_in_between_makes_each_packet_refund_by_itself(town: Town) -> None:
    first, second, third = _send_several(town, 3)
    share = a_claim(second, 2, "ann")
    rival, _ = town.adapters(town.dynamo)
    town.pass_time(61_000)

    def claim_share(_operations: list[object]) -> None:
        rival.record_claim(share)

    town.before_first_transaction(claim_share)

    report = town.expire()

    assert report.refunded_fen == 3000 - share.amount_fen
    assert report.closed_count == 2
    assert [_status(town, packet) for packet in (first, second, third)] == [
        "closed",
        "closing",
        "closed",
    ]
    town.settle([share.ref])
    assert town.expire().closed_count == 1
    assert town.differences(bound_ms=0) == []


def test_a_packet_that_cannot_be_refunded_leaves_its_batch_alone(town: Town) -> None:
    broken, *sound = _send_several(town, 3)

    class Unreadable(DynamoPackets):
        def scan_part_shares(
            self, packet_id: str, part: int, after_no: int = 0
        ) -> Iterator[ShareFate]:
            if packet_id == broken.packet_id:
                raise ValueError(packet_id)
            return super().scan_part_shares(packet_id, part, after_no)

    town.packets = Unreadable(Dynamo(lambda: town.dynamo), "packets", "shares")
    town.pass_time(61_000)

    report = town.expire()

    assert (report.closed_count, report.failed_count, report.refunded_fen) == (2, 1, 2000)
    assert {_status(town, packet) for packet in sound} == {"closed"}


def test_packets_that_need_no_refund_are_closed_together_with_others(town: Town) -> None:
    full, empty = _send_several(town, 2, count=2)
    for user_id in ("ann", "ben"):
        town.grab(full, user_id)
    # The message of the last claim is cut off after its payment: nobody notices the end.
    refs = town.queue.take_all()
    shares = town.packets.list_refs(refs)
    for share in shares:
        key = keys.share(share.packet_id, share.share_no)
        town.dynamo.tables["shares"][key["pk"], key["sk"]].pop("is_last", None)
    town.settle(refs)
    town.pass_time(61_000)
    assert _status(town, full) == "open"

    town.expire()

    assert {_status(town, packet) for packet in (full, empty)} == {"closed"}
    assert town.differences(bound_ms=0) == []


def test_a_batch_fills_a_transaction_and_no_more() -> None:
    def packets(*counts: int) -> list[Packet]:
        return [a_packet(count=count) for count in counts]

    def sizes(*counts: int) -> list[list[int]]:
        found = batches(packets(*counts))
        return [[packet.terms.count for packet in batch] for batch in found]

    # 2 x 24 + 1 twice and the balance are 99; one share more would be 101.
    assert OPERATIONS_PER_TRANSACTION >= 2 * (2 * 24 + 1) + 1
    assert sizes(24, 24) == [[24, 24]]
    assert sizes(25, 24) == [[25], [24]]
    assert sizes(100, 1, 1, 100) == [[100], [1, 1], [100]]
    cut = a_packet(count=2, packet_id=f"{'a' * 22}~2")
    assert [len(batch) for batch in batches([cut, cut])] == [1, 1]


def test_one_thread_refunds_all_packets_of_a_sender_one_after_the_other(town: Town) -> None:
    for sender in ("ann", "ben", "ann", "ben", "ann"):
        town.send(sender, count=30)
    town.pass_time(61_000)
    lanes: list[int] = []

    def counting(do: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        lanes.append(len(items))
        return one_by_one(do, items)

    town.in_parallel = counting

    assert town.expire().closed_count == 5

    # One read, five packets to begin with, and two senders.
    assert lanes == [1, 5, 2]


def test_a_sweep_closes_packets_of_many_senders_in_threads(town: Town) -> None:
    packets = [town.send(f"sender-{number % 7}") for number in range(40)]
    town.pass_time(61_000)
    town.in_parallel = in_threads

    report = town.expire()

    assert (report.closed_count, report.refunded_fen, report.failed_count) == (40, 40_000, 0)
    assert {_status(town, packet) for packet in packets} == {"closed"}
    assert town.differences(bound_ms=0) == []


def test_one_at_a_time_asks_the_cache_or_the_switches(town: Town) -> None:
    for number in range(30):
        town.send(f"sender-{number}")
    town.pass_time(61_000)
    busy = Lock()
    overlaps = []

    def one_asks() -> None:
        if not busy.acquire(blocking=False):
            overlaps.append("met another")
            return
        time.sleep(0.002)
        busy.release()

    close = town.memory.close

    def close_slowly(packet_id: str, *arguments: Any) -> None:
        one_asks()
        close(packet_id, *arguments)

    town.memory.close = close_slowly  # type: ignore[method-assign]

    def is_on() -> bool:
        one_asks()
        return True

    report = expire_packets(
        packets=town.packets,
        pages=town.pages,
        board=town.board,
        ledger=town.ledger,
        clock=town.clock,
        journal=town.journal,
        grace_ms=GRACE_MS,
        stop_at_ms=town.clock.now_ms() + 50_000,
        in_parallel=in_threads,
        may_go_on=is_on,
    )

    assert report.closed_count == 30
    assert overlaps == []


def test_a_small_packet_is_read_once_and_written_three_times(town: Town) -> None:
    town.send()
    town.pass_time(61_000)
    asked: list[str] = []

    class Noting:
        def __getattr__(self, name: str) -> Any:
            if not name.startswith("_") and name != "exceptions":
                asked.append(name)
            return getattr(town.dynamo, name)

    client = Noting()
    town.packets, town.ledger = town.adapters(client)
    town.expire()

    listing = [name for name in asked if name == "query"]
    assert len(listing) == keys.WORK_SHARDS + 1
    assert [name for name in asked if name != "query"] == [
        "batch_get_item",
        "update_item",  # it is closing
        "transact_write_items",  # the refund
        "transact_write_items",  # the end
    ]


def test_a_sweep_whose_time_is_up_says_so_once(town: Town) -> None:
    for number in range(3):
        town.send(f"sender-{number}")
    town.pass_time(61_000)

    town.expire(stop_in_ms=GRACE_MS)

    assert town.journal.events == ["sweep_out_of_time"]
