"""Sweeps in which every call takes time: no item waits permanently behind another."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from redpacket.ledger.dynamodb import keys as ledger_keys
from redpacket.lottery.model.lottery import PrizeKind
from redpacket.lottery.use_cases import edit_prize
from redpacket.operations.model.switches import Switch
from redpacket.packets.dynamodb import keys
from redpacket.packets.model.claim import Share, ShareRef
from redpacket.packets.model.packet import Kind, Packet, shard_count, shard_of_share
from redpacket.packets.split import Split
from redpacket.packets.use_cases import expire_packets, refund_packet, repair
from redpacket.packets.use_cases.repair import REPAIR_AFTER_MS, REQUEUE_PAUSE_MS_MAX
from redpacket.platform.dynamodb.client import to_wire
from testing.builders import a_campaign, a_packet_id, a_prize
from testing.fakes import Away
from testing.in_memory_system import GRACE_MS, LIFE_MS, InMemorySystem, an_order

EQUAL: dict[str, Any] = {"kind": Kind.EQUAL, "split": Split.EQUAL}
MINUTE_MS = 60_000
WINDOW_MS = 47_000
"""Milliseconds that a 55-second sweep has, without the time for its last chunk."""


class _Slow:
    """DynamoDB client whose calls take time: per call, row read and refunded share."""

    def __init__(self, system: InMemorySystem, row_ms: float, share_ms: float) -> None:
        self._town = system
        self._row_ms = row_ms
        self._share_ms = share_ms

    def __getattr__(self, name: str) -> Any:
        return getattr(self._town.dynamo, name)

    def query(self, **query: Any) -> Any:
        page = self._town.dynamo.query(**query)
        self._town.pass_time(5 + int(self._row_ms * len(page["Items"])))
        return page

    def transact_write_items(self, *, TransactItems: list[Any], **token: str) -> None:  # noqa: N803
        self._town.dynamo.transact_write_items(TransactItems=TransactItems, **token)
        tables = [arguments["TableName"] for write in TransactItems for arguments in write.values()]
        self._town.pass_time(10 + int(self._share_ms * tables.count("shares")))


def _slow_down(system: InMemorySystem, row_ms: float, share_ms: float) -> None:
    system.stand_on(_Slow(system, row_ms, share_ms))


def _sweep_each_minute(system: InMemorySystem, minutes: int) -> Iterator[int]:
    """Sweep once a minute, *minutes* times; yield each minute after checking the sweep's
    duration.
    """
    for minute in range(1, minutes + 1):
        began_ms = system.clock.now_ms()
        system.sweep(WINDOW_MS)
        assert system.clock.now_ms() < began_ms + 55_000, "the function would have died"
        system.clock.at_ms = began_ms + MINUTE_MS
        yield minute


def _open_count(system: InMemorySystem, packets: Sequence[Packet]) -> int:
    return sum(system.stored(packet).status != "closed" for packet in packets)


def _cash(
    system: InMemorySystem, units: int, amount_fen: int = 100, life_ms: int = LIFE_MS
) -> Packet:
    """Create a campaign with one cash prize; return the prize's packet."""
    campaign = a_campaign(ends_at_ms=system.clock.now_ms() + life_ms)
    system.campaigns.create(campaign)
    system.deposit("operator", units * amount_fen)
    prize = system.put_prize(
        a_prize(
            campaign.campaign_id, "cash", kind=PrizeKind.PACKET, amount_fen=amount_fen, total=units
        )
    )
    ((packet_id, _),) = prize.packets
    packet = system.packets.find_packet(packet_id)
    assert packet
    return packet


# ---- large prizes


def test_a_huge_prize_does_not_delay_other_packets_or_lost_claims(
    system: InMemorySystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Counts are scaled down by 250: a shard has 80 units. A row takes 5 ms, 45 refunds 1.7 s.
    monkeypatch.setattr(edit_prize, "UNITS_PER_SHARD", 80)
    prize = _cash(system, 4_000)
    others = [system.send(f"sender-{number}", life_ms=LIFE_MS + 1_000) for number in range(40)]
    claim = system.grab(others[0], "ann").share
    system.queue.take_all()  # Its message is lost.
    system.pass_time(LIFE_MS + 2_000)
    _slow_down(system, row_ms=5, share_ms=37)

    for minute in _sweep_each_minute(system, 8):
        if minute == 1:
            assert _open_count(system, others[1:]) == 0
            assert system.queue.take_all() == [claim.ref]
            system.settle([claim.ref])

    assert system.stored(prize).status == "closed"
    assert _open_count(system, others) == 0
    assert system.balance_fen("operator") == 4_000 * 100


def test_small_packets_do_not_wait_behind_three_huge_ones(system: InMemorySystem) -> None:
    campaign = system.rain(budget_fen=10**9, budget_left_fen=10**9)
    system.shard_share_count = 40
    huge = [
        system.send("operator", **EQUAL, total_fen=2_000, count=2_000, campaign=campaign)
        for _ in range(3)
    ]
    small = [system.send(f"sender-{number}") for number in range(40)]
    system.pass_time(LIFE_MS + 1_000)
    _slow_down(system, row_ms=2, share_ms=75)
    closed_after: dict[str, int] = {}

    for minute in _sweep_each_minute(system, 20):
        if minute == 1:
            assert _open_count(system, small) == 0
            assert all(system.stored(packet).closing_step > 0 for packet in huge)
        for packet in huge:
            if system.stored(packet).status == "closed":
                closed_after.setdefault(packet.packet_id, minute)
        if len(closed_after) == len(huge):
            break

    # Their turns interleave, so none of them ends long before the others.
    assert len(closed_after) == 3
    assert max(closed_after.values()) - min(closed_after.values()) <= 3


def test_a_large_packet_gets_its_turn_while_small_ones_use_all_the_time(
    system: InMemorySystem,
) -> None:
    large = system.send("large", count=100, total_fen=10_000)
    for number in range(60):
        system.send(f"sender-{number}")
    system.pass_time(LIFE_MS)
    _slow_down(system, row_ms=2, share_ms=200)
    # Each minute adds as many packets as a sweep has time for.
    for minute in _sweep_each_minute(system, 15):
        if system.stored(large).status == "closed":
            break
        for number in range(60):
            system.send(f"sender-{minute}-{number}", life_ms=1_000)
        system.pass_time(1_000)
    else:
        pytest.fail("it waits permanently")

    assert 10 <= minute <= 14
    system.sweep(10**9)


def test_a_turn_that_ends_in_the_middle_of_a_shard_continues_there(system: InMemorySystem) -> None:
    packet = system.send("sender", count=100, total_fen=1_000, **EQUAL)
    system.pass_time(LIFE_MS)
    # 45 shares take longer than a turn.
    _slow_down(system, row_ms=0, share_ms=200)

    system.expire(stop_in_ms=GRACE_MS + 1_000)

    row = system.stored(packet)
    assert (row.closing_step, row.closing_no) == (0, 45)
    assert system.expire().closed_count == 1
    assert system.balance_fen("sender") == 1_000


def test_packets_of_one_sender_have_their_turns_one_after_another(system: InMemorySystem) -> None:
    packets = [_sent_by_one(system, number, count=100) for number in range(2)]
    system.pass_time(LIFE_MS)
    # 45 shares take 9 s.
    _slow_down(system, row_ms=0, share_ms=200)

    system.expire(stop_in_ms=GRACE_MS + 17_000)

    assert [system.stored(packet).closing_no for packet in packets] == [45, 45]
    system.expire(stop_in_ms=10**9)


def test_a_turn_that_ends_after_reading_the_outcomes_still_makes_progress(
    system: InMemorySystem,
) -> None:
    packet = system.send("sender", count=100, total_fen=1_000)
    system.crowd(packet, 90)
    system.settle()
    system.pass_time(LIFE_MS)
    _slow_down(system, row_ms=50, share_ms=1)

    assert system.expire().closed_count == 1


def test_a_claim_behind_the_position_of_a_refund_is_still_found(system: InMemorySystem) -> None:
    packet = system.send("sender", count=100, total_fen=1_000, **EQUAL)
    claims = system.crowd(packet, 60)
    system.settle()
    system.pass_time(LIFE_MS)
    _slow_down(system, row_ms=0, share_ms=200)

    system.expire(stop_in_ms=GRACE_MS)
    reports = [system.expire(stop_in_ms=GRACE_MS + 1_000) for _ in range(2)]

    assert sum(report.refunded_fen for report in reports) == 1_000 - 10 * len(claims)
    assert system.expire().closed_count + sum(report.closed_count for report in reports) == 1


# ---- lists whose head does not move


def test_short_packets_are_due_in_time_during_a_long_outage_of_the_cache(
    system: InMemorySystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repair, "ROWS_PER_SWEEP", 3 * ledger_keys.WORK_SHARDS)

    claim_cache, system.claim_cache = system.claim_cache, Away()
    for number in range(200):
        system.send(f"sender-{number}", life_ms=24 * 3_600_000)
    system.pass_time(1_000)
    short = [system.send(f"short-{number}") for number in range(20)]
    system.pass_time(MINUTE_MS)

    for _ in _sweep_each_minute(system, 6):
        pass

    assert all(system.balance_fen(f"short-{number}") == 1_000 for number in range(20))
    system.claim_cache = claim_cache
    system.sweep()
    assert _open_count(system, short) == 0


def test_a_packet_that_no_sweep_could_load_is_loaded_by_its_first_grab(
    system: InMemorySystem,
) -> None:
    claim_cache, system.claim_cache = system.claim_cache, Away()
    packet = system.send(life_ms=10 * LIFE_MS)
    system.pass_time(REPAIR_AFTER_MS)
    report = system.sweep()
    system.claim_cache = claim_cache

    claim = system.grab(packet, "ann")

    assert (report.loaded_count, report.failed_count) == (0, 1)
    assert system.work.list_unloaded(system.clock.now_ms(), 800) == []
    assert claim.is_new
    system.settle()


@pytest.mark.parametrize("is_loaded", [True, False])
def test_unreadable_packets_do_not_stay_at_the_head_of_the_list(
    monkeypatch: pytest.MonkeyPatch, *, is_loaded: bool
) -> None:
    system = InMemorySystem()
    monkeypatch.setattr(expire_packets, "PACKETS_PER_SWEEP", ledger_keys.WORK_SHARDS)
    monkeypatch.setattr(repair, "ROWS_PER_SWEEP", ledger_keys.WORK_SHARDS)
    # All packets have one sender, so they are in one shard, from which each sweep takes only a few
    # here.
    *broken, sound = [_sent_by_one(system, number) for number in range(70)]
    for packet in broken:
        system.row("packets", keys.packet(packet.packet_id))["terms"] = {"S": "nonsense"}
    for packet in () if is_loaded else (*broken, sound):
        _unload(system, packet)
    system.pass_time(REPAIR_AFTER_MS)

    for _ in _sweep_each_minute(system, 5):
        pass

    assert system.stored(sound).status == "closed"


def _unload(system: InMemorySystem, packet: Packet) -> None:
    """Put a packet in the state that an interrupted send leaves; all packets use one work shard."""
    row = system.row("packets", keys.packet(packet.packet_id))
    waits = {
        "work_pk": {"S": ledger_keys.work("load", 0)},
        "work_at_ms": {"N": str(packet.created_at_ms)},
    }
    item = {**row, "is_loaded": {"BOOL": False}, **waits}
    system.dynamo.put_item(TableName="packets", Item=item)


def test_a_read_stops_when_the_time_is_up(
    system: InMemorySystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refund_packet, "_SHARES_PER_LOOK", 2)
    packet = system.send("sender", count=20)
    system.crowd(packet, 10)
    system.settle()
    system.pass_time(LIFE_MS)
    scan, read = system.packets.scan_shard_shares, 0

    def slowly(packet_id: str, shard: int, after_no: int = 0) -> Iterator[Share]:
        nonlocal read
        for share in scan(packet_id, shard, after_no):
            system.pass_time(1_000)
            read += 1
            yield share

    system.packets.scan_shard_shares = slowly  # type: ignore[method-assign]

    report = system.expire(stop_in_ms=GRACE_MS + 3_500)

    assert (report.refunded_fen, report.failed_count) == (0, 0)
    assert read == 4
    assert system.expire().closed_count == 1


def _sent_by_one(system: InMemorySystem, number: int, **changes: Any) -> Packet:
    system.pass_time(1)
    order = an_order("sender", key=f"send-{number}", **changes)
    system.deposit("sender", order.total_fen)
    return system.send_order(order)


def test_rows_of_an_attacker_do_not_block_claims_of_their_shard(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    system = InMemorySystem()
    monkeypatch.setattr(repair, "ROWS_PER_SWEEP", ledger_keys.WORK_SHARDS)
    packet = system.send(life_ms=100 * LIFE_MS)
    claim = system.grab(packet, "ann").share
    system.queue.take_all()
    shard = system.row("shares", keys.share(packet.packet_id, claim.share_no))["work_pk"]["S"]
    for number in range(100):
        _put_work(system, f"x{number}", "y", shard)
    system.pass_time(REPAIR_AFTER_MS)

    for _ in _sweep_each_minute(system, 10):
        pass

    assert system.queue.take_all()[:1] == [claim.ref]
    # The broken claims are retried after an hour, and each is logged.
    later_ms = system.clock.now_ms() + REQUEUE_PAUSE_MS_MAX
    assert len(system.work.list_unsettled(later_ms, 8_000)) == 101
    assert len(system.logger.errors) == 100


def _put_work(system: InMemorySystem, pk: str, sk: str, shard: str, **values: Any) -> None:
    """Put a row into a work list as an attacker with the grab function's role can."""
    row = {"pk": {"S": pk}, "sk": {"S": sk}, "work_pk": {"S": shard}, "work_at_ms": {"N": "0"}}
    system.dynamo.put_item(TableName="shares", Item={**row, **values})


def test_an_unreadable_share_is_set_aside_for_an_hour() -> None:
    system = InMemorySystem()
    key = keys.share(a_packet_id(), 1)
    _put_work(system, key["pk"], key["sk"], ledger_keys.work("settle", 0), fate={"S": "eaten"})
    system.pass_time(REPAIR_AFTER_MS)

    system.repair()
    again = system.work.list_unsettled(system.clock.now_ms() + REQUEUE_PAUSE_MS_MAX - 1, 800)
    later = system.work.list_unsettled(system.clock.now_ms() + REQUEUE_PAUSE_MS_MAX, 800)

    assert [name for name, _ in system.logger.errors] == ["requeue_failed"]
    assert (len(again), len(later)) == (0, 1)


def test_a_number_that_is_not_an_integer_delays_no_other_claim(
    system: InMemorySystem,
) -> None:
    packet = system.send()
    claims = system.grab_all(packet, "ann", "bob")
    system.queue.take_all()
    key = keys.share(packet.packet_id, claims[0].share_no)
    system.forge("shares", key, work_at_ms={"N": "0.5"})
    system.pass_time(REPAIR_AFTER_MS)

    system.repair()

    assert {ref.share_no for ref in system.queue.take_all()} == {share.share_no for share in claims}


def test_a_settled_claim_that_was_listed_again_leaves_the_list(
    system: InMemorySystem,
) -> None:
    packet = system.send()
    claim = system.grab(packet, "ann").share
    system.settle()
    key, work = keys.share(packet.packet_id, claim.share_no), {"S": ledger_keys.work("settle", 3)}
    system.forge("shares", key, work_pk=work, work_at_ms={"N": "0"})
    system.pass_time(REPAIR_AFTER_MS)

    system.repair()

    assert system.work.list_unsettled(system.clock.now_ms(), 800) == []
    assert system.queue.take_all() == []


# ---- the steps of a sweep


def test_won_units_of_a_sharded_prize_are_found_in_all_shards(
    system: InMemorySystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(edit_prize, "UNITS_PER_SHARD", 4)
    packet = _cash(system, 12)
    campaign_id = packet.rules.campaign_id or ""
    assert shard_count(packet.packet_id) == 3
    system.load_campaign(campaign_id)

    units = [system.draw(campaign_id, f"user-{number}", "key").draw.unit_no for number in range(7)]

    (stock,) = system.prizes.list_stock(system.prizes.list_prizes(campaign_id), "")
    assert (stock.durable_no, stock.free) == (7, ())
    assert {shard_of_share(packet.packet_id, unit) for unit in units} == {0, 1, 2}
    assert {ref.packet_id for ref in system.queue.refs} == {packet.packet_id}
    assert len(set(system.queue.refs)) == 7
    system.settle()
    system.pass_time(LIFE_MS)
    assert system.expire().refunded_fen == 5 * 100
    assert ShareRef(packet.packet_id, 7) not in system.work.list_unsettled(10**15, 800)


def test_a_sweep_without_time_leaves_everything_to_the_next_one(system: InMemorySystem) -> None:
    packet = system.send()
    system.grab(packet, "ann")
    system.pass_time(LIFE_MS + 60_000)

    report = system.sweep(0)

    assert (report.closed_count, report.requeued_count, report.loaded_count) == (0, 0, 0)


@pytest.mark.parametrize(
    ("switch", "refunded_fen", "requeued_count"),
    [(Switch.REFUND, 0, 1), (Switch.PAYOUT, 900, 0), (Switch.GRAB, 900, 1)],
)
def test_a_switch_stops_its_own_step_of_the_sweep(
    switch: Switch, refunded_fen: int, requeued_count: int, system: InMemorySystem
) -> None:
    packet = system.send(**EQUAL, total_fen=1000, count=10)
    system.grab(packet, "ann")
    system.queue.take_all()
    system.turn_off(switch)
    system.pass_time(LIFE_MS + 600_000)

    report = system.sweep()

    assert (report.refunded_fen, report.requeued_count) == (refunded_fen, requeued_count)


def test_rows_that_are_not_packets_do_not_block_due_ones(system: InMemorySystem) -> None:
    packet = system.send(total_fen=100, count=1)
    for number in range(10):
        for shard in range(ledger_keys.WORK_SHARDS):
            row: dict[str, Any] = {"pk": f"x#{shard}-{number}", "sk": "x", "work_at_ms": 1}
            row["work_pk"] = ledger_keys.work("due", shard)
            system.dynamo.put_item(TableName="packets", Item=to_wire(row))

    lists = [
        system.work.list_due(packet.expires_at_ms + 1, 3 * ledger_keys.WORK_SHARDS)
        for _ in range(5)
    ]

    assert lists[0] == []
    assert lists[-1] == [packet.packet_id]
