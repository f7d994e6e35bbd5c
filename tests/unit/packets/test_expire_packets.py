import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from threading import Lock
from typing import Any

import pytest

from redpacket.ledger.dynamodb import keys as ledger_keys
from redpacket.packets.dynamodb import keys
from redpacket.packets.model.claim import Share, claimer_of
from redpacket.packets.model.packet import Packet
from redpacket.packets.split import Terms, share_amount_fen
from redpacket.packets.use_cases import expire_packets, refund_packet
from redpacket.packets.use_cases.refund_packet import (
    OPERATIONS_PER_TRANSACTION,
    SHARES_PER_TRANSACTION,
    batches,
)
from redpacket.packets.use_cases.sharded_claims import ShardedClaims
from redpacket.platform.errors import Unavailable
from redpacket.platform.runtime import in_threads
from testing.builders import a_claim, a_packet
from testing.fakes import Away, FakeClock, FakeShards
from testing.in_memory_system import GRACE_MS, LIFE_MS, InMemorySystem, an_order, one_by_one


@pytest.mark.parametrize("claimed_count", [0, 1, 3])
def test_leftovers_are_refunded_to_the_fen_once(system: InMemorySystem, claimed_count: int) -> None:
    packet = system.send(total_fen=777, count=4)
    claims = system.crowd(packet, claimed_count)
    system.settle()

    report = system.end()
    again = system.expire()

    assert report.refunded_fen == 777 - sum(share.amount_fen for share in claims)
    assert (report.closed_count, again.closed_count, again.refunded_fen) == (1, 0, 0)
    paid_fen = sum(system.balance_fen(f"user-{number}") for number in range(claimed_count))
    assert system.balance_fen("sender") == report.refunded_fen == 777 - paid_fen
    assert system.stored(packet).status == "closed"


def test_one_grace_period_covers_all_packets(system: InMemorySystem) -> None:
    for _ in range(3):
        system.send()
    system.pass_time(61_000)
    before_ms = system.clock.now_ms()

    assert system.expire().closed_count == 3

    assert system.clock.now_ms() == before_ms + GRACE_MS


def test_a_large_packet_is_split_once_there_is_time_for_it(
    system: InMemorySystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refund_packet, "_LARGE", 10)
    packet = system.send(total_fen=1000, count=200)
    system.pass_time(61_000)

    # The sweep runs out of time when the grace period ends.
    report = system.expire(stop_in_ms=GRACE_MS)

    assert (report.closed_count, report.refunded_fen) == (0, 0)
    assert system.stored(packet).status == "closing"
    assert system.expire().refunded_fen == 1000


@pytest.mark.parametrize(("large", "alone"), [(199, [1]), (200, [])])
def test_only_the_split_of_a_large_packet_delays_others(
    system: InMemorySystem, monkeypatch: pytest.MonkeyPatch, large: int, alone: list[int]
) -> None:
    monkeypatch.setattr(refund_packet, "_LARGE", large)
    splitting, split = Lock(), list[int]()
    ports = partial(refund_packet.ClosingPorts, splitting=splitting)
    monkeypatch.setattr(expire_packets, "ClosingPorts", ports)

    def share(terms: Terms, number: int) -> int:
        if splitting.locked():
            split.append(number)
        return share_amount_fen(terms, number)

    monkeypatch.setattr(refund_packet, "share_amount_fen", share)
    system.send(total_fen=1000, count=200)
    system.end()

    assert split == alone
    assert system.balance_fen("sender") == 1000


def test_a_sweep_continues_with_the_shard_where_the_last_one_stopped(
    system: InMemorySystem,
) -> None:
    packet = system.send_in_shards(4, count=400, total_fen=4000)
    claims = system.crowd(packet, 40)
    system.settle()
    system.pass_time(61_000)
    system.before_each_transaction(lambda _operations: system.pass_time(1_000))
    scan, listed = system.packets.scan_shard_shares, list[int]()

    def reading(packet_id: str, shard: int, after_no: int = 0) -> Iterator[Share]:
        listed.append(shard)
        return scan(packet_id, shard, after_no)

    system.packets.scan_shard_shares = reading  # type: ignore[method-assign]

    reports = []
    while system.stored(packet).status != "closed":
        reports.append(system.expire(stop_in_ms=GRACE_MS + 2_000))
        assert len(reports) < 20

    # Each shard is listed twice, for the refund and for the cache, and again after an interruption.
    assert len(reports) > 3
    assert len(listed) <= 2 * 4 + len(reports)
    assert sum(report.refunded_fen for report in reports) == system.balance_fen("sender")
    assert system.balance_fen("sender") == 4000 - sum(share.amount_fen for share in claims)
    best = max(claims, key=lambda share: (share.amount_fen, -share.decided_at_ms, -share.share_no))
    end = system.stored(packet).end
    assert end
    assert end.luckiest == claimer_of(best)
    assert system.differences() == []


@pytest.mark.parametrize("shards", [1, 3])
def test_an_unavailable_cache_delays_the_close_but_not_the_refund(
    system: InMemorySystem, shards: int
) -> None:
    packet = _sent(system, shards)
    claim_cache = system.claim_cache
    system.claim_cache = ShardedClaims(Away(), clock=system.clock)

    report = system.end()

    assert (report.refunded_fen, report.closed_count, report.failed_count) == (6000, 0, 0)
    assert system.balance_fen("sender") == 6000
    assert system.stored(packet).status == "closing"
    assert "close_late" not in system.logger.events
    system.clock.at_ms = packet.expires_at_ms + expire_packets.CLOSE_LATE_MS
    system.expire()
    assert "close_late" in system.logger.events
    system.claim_cache = claim_cache
    assert system.expire().closed_count == 1


def _sent(system: InMemorySystem, shards: int) -> Packet:
    return (
        system.send_in_shards(shards, 300) if shards > 1 else system.send(total_fen=6000, count=30)
    )


def test_an_outcome_that_differs_from_its_share_keeps_the_packet_open() -> None:
    system = InMemorySystem()
    packet = system.send(count=4)
    system.grab(packet, "ann")
    system.settle()
    system.row("shares", keys.share(packet.packet_id, 1))["amount_fen"] = {"N": "1"}

    report = system.end()

    assert (report.failed_count, report.closed_count) == (1, 0)
    assert system.stored(packet).status == "closing"
    assert {difference.rule for difference in system.differences()} >= {"I1", "I3"}


def test_a_packet_whose_end_moved_after_the_list_was_read_stays_unchanged(
    system: InMemorySystem,
) -> None:
    packet = system.send(life_ms=LIFE_MS)
    system.pass_time(61_000)
    key = keys.packet(packet.packet_id)
    later_ms = str(system.clock.now_ms() + LIFE_MS)
    system.dynamo.tables["packets"][key["pk"], key["sk"]]["expires_at_ms"] = {"N": later_ms}

    report = system.expire()

    assert (report.closed_count, report.refunded_fen, report.failed_count) == (0, 0, 0)
    assert system.stored(packet).status == "open"


@pytest.mark.parametrize("shards", [1, 3])
def test_a_packet_that_was_never_cached_is_refunded(system: InMemorySystem, shards: int) -> None:
    claim_cache = system.claim_cache
    system.claim_cache = ShardedClaims(Away(), clock=system.clock)
    packet = _sent(system, shards)

    system.end()
    system.repair()
    report = system.expire()

    assert (report.refunded_fen, report.closed_count) == (6000, 0)
    assert system.balance_fen("sender") == 6000
    system.claim_cache = claim_cache
    assert system.expire().closed_count == 1
    assert system.stored(packet).status == "closed"


def test_a_late_sweep_leaves_a_closed_packet_unchanged(
    system: InMemorySystem,
) -> None:
    packet = system.send_in_shards(3, 9)
    system.crowd(packet, 5)
    system.settle()
    system.pass_time(61_000)
    closing = system.packets.begin_close(packet, system.clock.now_ms())
    system.expire()
    closed = system.packets.find_packet(packet.packet_id)

    system.packets.mark_step(replace(closing, closing_step=1))

    assert system.packets.find_packet(packet.packet_id) == closed


def test_a_cache_that_hangs_is_called_once_in_a_sweep(system: InMemorySystem) -> None:
    claim_cache = system.claim_cache
    system.claim_cache = hanging = Away(claim_cache, "load")
    for _ in range(5):
        system.send(life_ms=2 * LIFE_MS)
    hanging.requests.clear()
    system.pass_time(60_001)
    assert system.repair() == (0, 0)
    assert len(hanging.requests) == 1
    system.claim_cache = hanging = Away(claim_cache, "close")
    system.pass_time(LIFE_MS)

    report = system.expire()

    assert len(hanging.requests) == 1
    assert (report.refunded_fen, report.closed_count, report.failed_count) == (5000, 0, 0)
    assert system.balance_fen("sender") == 5 * 1000


@pytest.mark.parametrize(("call", "closed_count"), [("load", 2), ("close", 3)])
def test_a_packet_that_the_cache_refuses_does_not_delay_the_others(
    system: InMemorySystem, call: str, closed_count: int
) -> None:
    """The cache is full, or it does not serve the slot of the first packet."""
    first, *others = [system.send() for _ in range(3)]
    original = getattr(system.memory, call)

    def refuses(packet: Any, *arguments: Any, **options: Any) -> None:
        if first.packet_id in str(packet):
            raise Unavailable("OOM command not allowed")
        original(packet, *arguments, **options)

    setattr(system.memory, call, refuses)
    if call == "load":
        system.memory.caches.clear()

    report = system.end()

    expected = 3000, closed_count, 0
    assert (report.refunded_fen, report.closed_count, report.failed_count) == expected
    assert {system.stored(packet).status for packet in others} == {"closed"}
    setattr(system.memory, call, original)
    assert system.expire().closed_count == 3 - closed_count


def test_no_share_is_given_out_in_the_grace_period_even_if_the_cache_clock_is_late(
    system: InMemorySystem,
) -> None:
    late = FakeShards(FakeClock())  # The cache's clock stops at the moment of the send.
    system.claim_cache = system.memory = late
    packet = system.send()
    system.pass_time(61_000)
    calls = []

    class Asking(FakeClock):
        def sleep_ms(self, duration_ms: int) -> None:
            calls.append(late.grab(packet.packet_id, "ann").status.value)
            super().sleep_ms(duration_ms)

    system.clock = Asking(system.clock.now_ms())
    system.expire()

    assert calls == ["packet_expired"]


def test_claims_are_queued_again_after_one_two_and_four_minutes(system: InMemorySystem) -> None:
    packet = system.send(life_ms=3_600_000)
    claim = system.grab(packet, "ann")
    system.queue.take_all()
    requeued_at_min = []

    for minute in range(1, 9):
        system.pass_time(60_000)
        system.repair()
        if system.queue.take_all():
            requeued_at_min.append(minute)

    assert requeued_at_min == [1, 2, 4, 8]
    system.settle([claim.share.ref])
    system.pass_time(3_600_000)
    assert system.repair() == (0, 0)


def _send_several(system: InMemorySystem, number: int, **changes: Any) -> list[Packet]:
    """Send *number* small packets from one sender."""
    packets = []
    for key in range(number):
        order = an_order("sender", key=f"several-{key}", **changes)
        system.deposit("sender", order.total_fen)
        packets.append(system.send_order(order))
    return packets


def _refund_transactions(system: InMemorySystem, lasting_ms: int = 0) -> list[list[dict[str, Any]]]:
    """Record every later transaction that writes both shares and accounts."""
    noted: list[list[dict[str, Any]]] = []

    def note(operations: list[dict[str, Any]]) -> None:
        tables = {
            arguments["TableName"] for operation in operations for arguments in operation.values()
        }
        if {"shares", "accounts"} <= tables:
            noted.append(operations)
            system.pass_time(lasting_ms)

    system.before_each_transaction(note)
    return noted


# Each share has an outcome and a receipt, and each refund an entry: four packets of 10 shares, or
# two of 24, fill a transaction.
@pytest.mark.parametrize(
    ("number", "count", "sizes"), [(5, 10, [4 * 21 + 1, 21 + 1]), (3, 24, [2 * 49 + 1, 49 + 1])]
)
def test_small_packets_of_one_sender_are_refunded_in_one_transaction(
    system: InMemorySystem, number: int, count: int, sizes: list[int]
) -> None:
    packets = _send_several(system, number, count=count)
    claim = system.grab(packets[0], "ann")
    system.settle()
    system.pass_time(61_000)
    noted = _refund_transactions(system)

    report = system.expire()

    assert [len(operations) for operations in noted] == [sizes[0] - 2, sizes[1]]
    assert (report.closed_count, report.failed_count) == (number, 0)
    left_fen = 1000 * number - claim.share.amount_fen
    assert report.refunded_fen == left_fen == system.balance_fen("sender")
    assert system.differences(bound_ms=0) == []


@pytest.mark.parametrize("number", [1, 3])
def test_a_concurrent_claim_is_paid_and_makes_each_packet_refund_separately(
    system: InMemorySystem, number: int
) -> None:
    *others, claimed = _send_several(system, number)
    share = a_claim(claimed, 2, "ann")
    rival = system.recorder
    system.pass_time(61_000)
    system.before_first_transaction(lambda _: rival.record_claim(share))

    report = system.expire()

    assert report.refunded_fen == 1000 * number - share.amount_fen
    assert report.closed_count == len(others)
    assert [system.stored(packet).status for packet in others] == ["closed"] * len(others)
    assert system.stored(claimed).status == "closing"
    system.settle([share.ref])
    assert system.expire().closed_count == 1
    assert system.balance_fen("ann") == share.amount_fen
    assert system.differences(bound_ms=0) == []


def test_a_packet_that_cannot_be_refunded_leaves_its_batch(system: InMemorySystem) -> None:
    broken, *sound = _send_several(system, 3)

    scan = system.packets.scan_shard_shares

    def unreadable(packet_id: str, shard: int, after_no: int = 0) -> Iterator[Share]:
        if packet_id == broken.packet_id:
            raise ValueError(packet_id)
        return scan(packet_id, shard, after_no)

    system.packets.scan_shard_shares = unreadable  # type: ignore[method-assign]

    report = system.end()

    assert (report.closed_count, report.failed_count, report.refunded_fen) == (2, 1, 2000)
    assert {system.stored(packet).status for packet in sound} == {"closed"}


def test_packets_that_need_no_refund_are_closed_together_with_others(
    system: InMemorySystem,
) -> None:
    full, empty = _send_several(system, 2, count=2)
    for user_id in ("ann", "ben"):
        system.grab(full, user_id)
    # The last claim is settled, but the message that would also close the packet is lost.
    refs = system.queue.take_all()
    shares = system.packets.list_refs(refs)
    for share in shares:
        system.row("shares", keys.share(share.packet_id, share.share_no)).pop("is_last", None)
    system.settle(refs)
    system.pass_time(61_000)
    assert system.stored(full).status == "open"

    system.expire()

    assert {system.stored(packet).status for packet in (full, empty)} == {"closed"}
    assert system.differences(bound_ms=0) == []


def test_a_batch_fills_a_transaction_and_no_more() -> None:
    def packets(*counts: int) -> list[Packet]:
        return [a_packet(count=count) for count in counts]

    def sizes(*counts: int) -> list[list[int]]:
        packet_lists = batches(packets(*counts))
        return [[packet.terms.count for packet in batch] for batch in packet_lists]

    # Two packets of 24 shares need 2 x 49 operations, and the balance update makes 99; one more
    # share would make 101.
    assert OPERATIONS_PER_TRANSACTION >= 2 * (2 * 24 + 1) + 1
    assert sizes(24, 24) == [[24, 24]]
    assert sizes(25, 24) == [[25], [24]]
    # Three packets of 16 shares fit into a transaction. A large packet has its own.
    assert sizes(16, 16, 16, 16, 16, 16, 1) == [[16, 16, 16], [16, 16, 16], [1]]
    assert sizes(100, 1, 1, 100) == [[100], [1, 1], [100]]
    cut = a_packet(count=2, packet_id=f"{'a' * 22}~2")
    assert [len(batch) for batch in batches([cut, cut])] == [1, 1]


def test_one_thread_refunds_all_packets_of_a_sender_one_after_the_other(
    system: InMemorySystem,
) -> None:
    for sender in ("ann", "ben", "ann", "ben", "ann"):
        system.send(sender, count=30)
    system.pass_time(61_000)
    lanes: list[int] = []

    def counting(do: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        lanes.append(len(items))
        return one_by_one(do, items)

    system.in_parallel = counting

    assert system.expire().closed_count == 5

    # Parallel calls: one read, five packets, and two senders.
    assert lanes == [1, 5, 2]


def test_each_call_to_the_cache_or_the_switches_runs_alone(system: InMemorySystem) -> None:
    for number in range(30):
        system.send(f"sender-{number}")
    system.pass_time(61_000)
    busy = Lock()
    overlaps = []

    def one_asks() -> None:
        if not busy.acquire(blocking=False):
            overlaps.append("met another")
            return
        time.sleep(0.002)
        busy.release()

    close = system.memory.close

    def close_slowly(packet_id: str, *arguments: Any) -> None:
        one_asks()
        close(packet_id, *arguments)

    system.memory.close = close_slowly  # type: ignore[method-assign]

    def is_on() -> bool:
        one_asks()
        return True

    system.in_parallel = in_threads
    report = system.expire(should_continue=is_on)

    assert report.closed_count == 30
    assert overlaps == []


def test_a_small_packet_is_read_once_and_written_three_times(system: InMemorySystem) -> None:
    system.send()
    system.pass_time(61_000)
    calls: list[str] = []

    class Noting:
        def __getattr__(self, name: str) -> Any:
            if not name.startswith("_") and name != "exceptions":
                calls.append(name)
            return getattr(system.dynamo, name)

    client = Noting()
    system.stand_on(client)
    system.expire()

    listing = [name for name in calls if name == "query"]
    assert len(listing) == ledger_keys.WORK_SHARDS + 1
    assert [name for name in calls if name != "query"] == [
        "batch_get_item",
        "update_item",  # mark it as closing
        "transact_write_items",  # refund it
        "transact_write_items",  # end it
    ]


def test_a_sweep_whose_time_is_up_reports_it_once(system: InMemorySystem) -> None:
    for number in range(3):
        system.send(f"sender-{number}")
    system.pass_time(61_000)

    system.expire(stop_in_ms=GRACE_MS)

    assert system.logger.events == ["sweep_out_of_time"]


def test_a_sweep_starts_no_refund_after_its_stop_time(
    system: InMemorySystem,
) -> None:
    packet = system.send(total_fen=1000, count=2 * SHARES_PER_TRANSACTION)
    system.pass_time(61_000)
    noted = _refund_transactions(system, lasting_ms=1_000)

    report = system.expire(stop_in_ms=GRACE_MS + 1_000)

    assert len(noted) == 1
    assert 0 < report.refunded_fen == system.balance_fen("sender") < 1000
    assert system.stored(packet).status == "closing"


def test_a_turn_ends_on_time_and_the_next_sender_has_a_turn(
    system: InMemorySystem,
) -> None:
    for sender in ("ann", "ben"):
        system.send(sender, total_fen=1000, count=2 * SHARES_PER_TRANSACTION)
    system.pass_time(61_000)
    noted = _refund_transactions(system, lasting_ms=expire_packets.TURN_MS)

    system.expire()

    refunded = ["user:ann" if "user:ann" in str(each) else "user:ben" for each in noted]
    assert len(refunded) == 4
    assert refunded[:2] == refunded[2:]
    assert len(set(refunded)) == 2


def test_a_ledger_that_refuses_a_refund_without_a_claim_is_reported(
    system: InMemorySystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    system.send()
    system.pass_time(61_000)
    monkeypatch.setattr(type(system.ledger), "refund", lambda *_: False)

    system.expire()

    assert [name for name, _ in system.logger.errors] == ["refund_failed"]
