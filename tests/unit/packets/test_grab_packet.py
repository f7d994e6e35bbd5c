from typing import Any
from unittest.mock import Mock

import pytest
from botocore.exceptions import EndpointConnectionError

from redpacket.packets.errors import (
    PacketEmptied,
    PacketExpired,
    PacketNotFound,
    PacketNotStarted,
)
from redpacket.packets.model.claim import Admission, GrabOutcome, GrabStatus, Share
from redpacket.packets.model.packet import Opening, Packet, Rules
from redpacket.packets.split import amounts_fen
from redpacket.packets.use_cases.load_packet import CacheLoads, ShardToLoad
from redpacket.platform import errors
from redpacket.platform.bounds import LOAD_WAITS_MS
from testing.builders import a_claim, a_packet
from testing.fakes import Away
from testing.in_memory_system import InMemorySystem, a_person
from testing.packets.fake_claim_cache import FakeShards


def test_a_winner_gets_the_amount_of_their_share(system: InMemorySystem) -> None:
    packet = system.send(count=4)

    claims = [system.grab(packet, user) for user in ("ann", "bob", "cat", "dan")]

    assert [claim.share.share_no for claim in claims] == [1, 2, 3, 4]
    assert [claim.share.amount_fen for claim in claims] == list(amounts_fen(packet.terms))
    assert system.queue.refs == [claim.share.ref for claim in claims]


def test_a_repeat_gets_the_same_share_and_queues_nothing(system: InMemorySystem) -> None:
    packet = system.send(count=1)
    first = system.grab(packet, "ann")
    system.pass_time(500)

    again = system.grab(packet, "ann")

    assert again.share == first.share
    assert (first.is_new, again.is_new) == (True, False)
    assert len(system.queue.refs) == 1
    # The share stays the same after the packet is closed.
    system.settle()
    system.end()
    assert system.grab(packet, "ann").share.amount_fen == first.share.amount_fen


def test_losers_never_touch_the_ledger_or_the_queue(system: InMemorySystem) -> None:
    packet = system.send(count=1)
    system.grab(packet, "ann")
    system.stand_on(None)  # Every call would fail.

    with pytest.raises(PacketEmptied):
        system.grab(packet, "bob")

    system.stand_on(system.dynamo)


def test_an_unknown_packet_is_not_found_and_delays_no_later_grab(
    system: InMemorySystem,
) -> None:
    unknown = a_packet()
    began_at_ms = system.clock.now_ms()

    for _ in range(3):
        with pytest.raises(PacketNotFound):
            system.grab(unknown, "ann")

    assert system.clock.now_ms() == began_at_ms


# ---- packets lost by the cache


@pytest.fixture
def lost(system: InMemorySystem) -> Packet:
    """Return a packet that the cache has lost."""
    packet = system.send()
    system.memory.caches.clear()
    return packet


def test_a_large_packet_that_the_cache_lost_is_loaded_by_one_of_the_callers(
    system: InMemorySystem,
) -> None:
    packet = system.send(total_fen=5_000, count=1_001)
    share = system.grab(packet, "ann").share
    system.memory.caches.clear()
    assert system.memory.begin_load(packet.packet_id, 0, 3_000)  # by the first caller

    with pytest.raises(errors.Unavailable, match="being loaded"):
        system.grab(packet, "bob")

    assert system.memory.caches == {}
    system.pass_time(3_000)  # The first caller has crashed.
    assert system.grab(packet, "ann").share == share
    assert system.grab(packet, "bob").is_new


@pytest.mark.parametrize("count", [5, 1_001])
def test_callers_that_wait_for_a_load_read_nothing(
    system: InMemorySystem, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    packet = system.send(count=count, total_fen=2_000)
    system.memory.caches.clear()
    assert system.memory.begin_load(packet.packet_id, 0, 60_000)
    reads = Mock(wraps=system.dynamo.get_item)
    monkeypatch.setattr(system.dynamo, "get_item", reads)

    for number in range(50):
        with pytest.raises(errors.Unavailable, match="being loaded"):
            system.grab(packet, f"user-{number}")

    assert reads.call_count == 0


def test_a_caller_that_waits_for_a_load_gets_its_result(
    system: InMemorySystem, lost: Packet
) -> None:
    assert system.memory.begin_load(lost.packet_id, 0, 60_000)
    look, looks = system.memory.grab, []

    def grab(packet_id: str, user_id: str) -> GrabOutcome:
        looks.append(system.clock.now_ms())
        if len(looks) == 3:
            system.claim_cache.load(lost, [])
        return look(packet_id, user_id)

    system.memory.grab = grab  # type: ignore[method-assign]

    assert system.grab(lost, "ann").is_new
    assert looks[2] - looks[0] == sum(LOAD_WAITS_MS[:2])


def test_a_loader_that_crashes_costs_the_others_no_answer(
    system: InMemorySystem, lost: Packet
) -> None:
    assert system.memory.begin_load(lost.packet_id, 0, 300)
    began_at_ms = system.clock.now_ms()

    assert system.grab(lost, "ann").is_new
    assert system.clock.now_ms() - began_at_ms == sum(LOAD_WAITS_MS) > 300
    # The loader's lease ends with the load.
    assert system.memory.begin_load(lost.packet_id, 0, 300)


def test_a_failed_load_keeps_its_lease_so_that_callers_do_not_retry_one_after_another(
    system: InMemorySystem, lost: Packet
) -> None:
    system.stand_on(Away(error=lambda _: EndpointConnectionError(endpoint_url="dynamodb")))

    with pytest.raises(errors.Unavailable):
        system.grab(lost, "ann")

    assert not system.memory.begin_load(lost.packet_id, 0, 300)
    system.stand_on(system.dynamo)


@pytest.mark.parametrize(("count", "life_ms"), [(1_000, 300), (1_001, 3_000)])
def test_a_large_load_gets_more_time(
    system: InMemorySystem, monkeypatch: pytest.MonkeyPatch, count: int, life_ms: int
) -> None:
    packet = system.send(count=count, total_fen=2_000)
    system.memory.caches.clear()
    load, free_ms = system.memory.load, []

    def slowly(*arguments: Any, **how: Any) -> None:
        while not system.memory.begin_load(packet.packet_id, 0, 1):
            system.clock.sleep_ms(50)
            free_ms.append(50)
        load(*arguments, **how)

    monkeypatch.setattr(system.memory, "load", slowly)
    system.grab(packet, "ann")

    assert sum(free_ms) == life_ms


def test_a_caller_whose_lease_starts_after_the_load_does_not_load_again(
    system: InMemorySystem,
) -> None:
    packet = system.send()
    system.stand_on(None)  # Every call would fail.

    loads = CacheLoads(packet.packet_id, "ann", system.process().claim_ports)
    loads.load(ShardToLoad(0, is_behind=False))

    system.stand_on(system.dynamo)


def test_a_collision_loads_after_a_loader_that_crashed(system: InMemorySystem) -> None:
    packet = system.send(count=3)
    snapshot = system.memory.snapshot()
    system.grab_all(packet, "ann", "bob")
    system.memory.fail_over(snapshot)
    assert system.memory.begin_load(packet.packet_id, 0, 300)

    assert system.grab(packet, "cat").share.share_no == 3
    # The cache has the owners again before any user is refused for lack of shares.
    assert system.memory.holders(packet.packet_id) == {"ann": 1, "bob": 2, "cat": 3}
    assert system.memory.begin_load(packet.packet_id, 0, 300)


@pytest.mark.parametrize(("count", "turn_ms"), [(3, 10_000), (1_001, 3_000)])
def test_a_collision_neither_loads_during_a_long_load_nor_waits_for_a_large_one(
    system: InMemorySystem, monkeypatch: pytest.MonkeyPatch, count: int, turn_ms: int
) -> None:
    packet = system.send(total_fen=5_000, count=count)
    snapshot = system.memory.snapshot()
    system.grab(packet, "ann")
    system.memory.fail_over(snapshot)
    reads = Mock(wraps=system.packets.list_shard_shares)
    monkeypatch.setattr(type(system.packets), "list_shard_shares", reads)
    assert system.memory.begin_load(packet.packet_id, 0, turn_ms)

    assert system.grab(packet, "cat").share.share_no == 2
    assert reads.call_count == 0
    assert system.logger.events == ["share_collision"]


@pytest.mark.parametrize("count", [1, 4])
def test_a_claim_interrupted_before_its_durable_write_is_completed_by_the_retry(
    system: InMemorySystem, count: int
) -> None:
    packet = system.send(count=count)
    # The Lambda crashed between the cache and the ledger; a packet of one share looks emptied now.
    system.memory.grab(packet.packet_id, "ann")

    claim = system.grab(packet, "ann")

    assert (claim.share.share_no, claim.is_new) == (1, True)


def test_a_winner_gets_their_share_even_if_the_queue_is_unavailable(system: InMemorySystem) -> None:
    packet = system.send()
    system.payouts = Away()

    claim = system.grab(packet, "ann")

    assert claim.is_new
    assert [name for name, _ in system.logger.errors] == ["payout_not_queued"]
    system.payouts = system.queue
    system.pass_time(60_001)
    assert system.repair() == (1, 0)
    system.settle()
    assert system.balance_fen("ann") == claim.share.amount_fen


@pytest.mark.parametrize(
    ("user", "share_no", "event"), [("cat", 3, "share_collision"), ("bob", 2, "share_given_back")]
)
def test_after_a_failover_an_owned_share_is_not_given_to_another_user(
    system: InMemorySystem, user: str, share_no: int, event: str
) -> None:
    packet = system.send(count=3)
    system.grab_all(packet, "ann", "bob")
    # The new primary lacks the claims, and gives out ann's number 1.
    system.memory.caches.clear()
    system.memory.load(packet, [])

    claim = system.grab(packet, user)

    assert (claim.share.share_no, claim.is_new) == (share_no, user == "cat")
    assert system.logger.events == [event]
    assert [share.share_no for share in system.grab_all(packet, "ann", "cat")] == [1, 3]
    with pytest.raises(PacketEmptied):
        system.grab(packet, "dan")


def test_an_owner_lost_in_a_failover_does_not_get_expired(system: InMemorySystem) -> None:
    packet = system.send()
    before = system.memory.snapshot()
    claim = system.grab(packet, "ann")
    system.memory.fail_over(before)
    system.pass_time(61_000)  # The packet has expired, and no sweep has run yet.

    again = system.grab(packet, "ann")

    assert (again.share, again.is_new) == (claim.share, False)
    with pytest.raises(PacketExpired):
        system.grab(packet, "bob")


def test_a_claim_in_flight_during_the_refund_gets_expired(system: InMemorySystem) -> None:
    packet = system.send(count=2)
    system.memory.grab(packet.packet_id, "ann")  # Her Lambda is suspended.
    system.end()

    with pytest.raises(PacketExpired):
        system.grab(packet, "ann")

    assert system.balance_fen("sender") == 1000


def test_a_claim_in_flight_that_is_durable_before_the_refund_is_paid(
    system: InMemorySystem,
) -> None:
    packet = system.send(count=2)
    share = a_claim(packet, 1, "ann")
    system.pass_time(61_000)
    closing = system.packets.begin_close(packet, system.clock.now_ms())
    system.recorder.record_claim(share)

    system.expire()

    assert system.balance_fen("sender") == 1000 - share.amount_fen
    assert closing.status == "closing"
    system.settle([share.ref])
    assert system.expire().closed_count == 1
    assert system.balance_fen("ann") == share.amount_fen


def test_an_owner_lost_in_a_failover_gets_the_share_of_a_closed_packet(
    system: InMemorySystem,
) -> None:
    packet = system.send(count=2)
    claims = {user: system.grab(packet, user).share for user in ("ann", "bob")}
    system.settle()
    # The new primary is a replica on which other users emptied the packet.
    lost = system.memory.snapshot()
    lost[packet.packet_id]["users"] = {"cat": 1, "dan": 2}
    system.memory.fail_over(lost)

    told = {user: system.grab(packet, user).share.ref for user in claims}

    assert told == {user: share.ref for user, share in claims.items()}


@pytest.mark.parametrize(
    ("rules", "keeps_token"),
    [
        (Rules(), False),
        (Rules(recipients=frozenset({"ann", "bob", "cat"})), False),
        (Rules(opening=Opening.TWO_STEP), False),
        (Rules(opening=Opening.TWO_STEP), True),
    ],
)
def test_an_owner_is_not_refused_while_a_number_is_being_returned(
    system: InMemorySystem, rules: Rules, *, keeps_token: bool
) -> None:
    def take(user_id: str) -> int:
        answer = admitted.get(user_id) or system.grab_or_enter(packet, user_id)
        if isinstance(answer, Admission):
            if keeps_token:
                admitted[user_id] = answer
            answer = system.open(packet, user_id, answer.grab_token)
        return answer.share.share_no

    admitted: dict[str, Admission] = {}
    packet = system.send(count=3, rules=rules)
    owned = {user: take(user) for user in ("ann", "bob", "cat")}
    # The new primary gave two shares to other users, whose claims never completed.
    lost = system.memory.snapshot()
    lost[packet.packet_id] |= {"users": {"dan": 1, "eve": 2}, "given_no": 2, "letter": "O"}
    system.memory.fail_over(lost)

    assert {user: take(user) for user in owned} == owned


def test_an_owner_keeps_the_share_after_the_end_if_the_cache_names_another_one(
    system: InMemorySystem,
) -> None:
    packet = system.send_of(system.rain(), count=3)
    owned = system.grab(packet, "ann").share
    lost = system.memory.snapshot()
    lost[packet.packet_id] |= {"users": {"ann": owned.share_no + 1}, "given_no": 2}
    system.memory.fail_over(lost)
    system.pass_time(3_600_000)

    claim = system.grab(packet, "ann")

    assert (claim.share, claim.is_new) == (owned, False)


def test_an_owner_keeps_the_share_though_a_cache_that_lost_it_answers_not_started(
    system: InMemorySystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    packet = system.send(count=2)
    owned = system.grab(packet, "ann").share
    too_early = GrabOutcome(GrabStatus.PACKET_NOT_STARTED, is_certain=False)
    monkeypatch.setattr(FakeShards, "grab", lambda *_: too_early)
    monkeypatch.setattr(FakeShards, "has_all_claimers", lambda *_: False)

    claim = system.grab(packet, "ann")

    assert (claim.share, claim.is_new) == (owned, False)
    with pytest.raises(PacketNotStarted):
        system.grab(packet, "bob")


def test_users_of_an_emptied_packet_cause_one_ledger_read_after_a_failover(
    system: InMemorySystem,
) -> None:
    packet = system.send(count=1)
    system.grab(packet, "ann")
    system.settle()
    system.memory.fail_over(system.memory.snapshot())
    reads: list[str] = []

    list_shard_shares = system.packets.list_shard_shares

    def counting(packet_id: str, shard: int) -> list[Share]:
        reads.append(packet_id)
        return list_shard_shares(packet_id, shard)

    system.packets.list_shard_shares = counting  # type: ignore[method-assign]
    system.packets.find_share_of = Away(error=AssertionError).find_share_of  # type: ignore[method-assign]

    for number in range(20):
        with pytest.raises(PacketEmptied):
            system.grab(packet, f"late-{number}")

    assert reads == [packet.packet_id]


def test_a_process_that_cached_an_emptied_packet_does_not_call_the_cache_for_a_share(
    system: InMemorySystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    one_step = system.send(count=1)
    two_step = system.send(count=1, rules=Rules(opening=Opening.TWO_STEP))
    process = system.process()

    def grab(packet: Packet, user_id: str) -> None:
        process.grab_packet(packet.packet_id, a_person(user_id), None)

    def enter(packet: Packet, user_id: str) -> None:
        process.open_packet(packet.packet_id, a_person(user_id), "token")

    system.grab(one_step, "ann")
    admission = system.grab_or_enter(two_step, "ann")
    assert isinstance(admission, Admission)
    system.open(two_step, "ann", admission.grab_token)
    for packet in (one_step, two_step):
        with pytest.raises(PacketEmptied):
            grab(packet, "bob")
    monkeypatch.setattr(system.claim_cache, "grab", Mock(side_effect=AssertionError))

    for packet, ask in ((one_step, grab), (two_step, enter)):
        with pytest.raises(PacketEmptied):
            ask(packet, "cat")
