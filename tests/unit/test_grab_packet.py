from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from unittest.mock import Mock

import pytest
from botocore.exceptions import EndpointConnectionError

from redpacket.adapters.dynamo.client import Dynamo
from redpacket.adapters.dynamo.packets import DynamoPackets
from redpacket.domain.claim import GrabOutcome, ShareFate, ShareRef
from redpacket.domain.errors import (
    PacketEmptied,
    PacketExpired,
    PacketNotFound,
    Unavailable,
)
from redpacket.domain.split import amounts_fen
from redpacket.flows.packets.load_packet import WAITS_MS, load_among_many
from tests.builders import a_claim, a_packet
from tests.fakes import FakeQueue
from tests.town import Town


class QueueThatIsAway(FakeQueue):
    def put(self, refs: Iterable[ShareRef], *, delay_s: int = 0) -> None:
        raise Unavailable("the payout queue does not answer")


class _Away:
    """A DynamoDB client that gets no answer."""

    def __getattr__(self, operation: str) -> Any:
        raise EndpointConnectionError(endpoint_url="dynamodb")


def test_a_winner_is_told_the_amount_of_their_share(town: Town) -> None:
    packet = town.send(count=4)

    claims = [town.grab(packet, user) for user in ("ann", "bob", "cat", "dan")]

    assert [claim.share.share_no for claim in claims] == [1, 2, 3, 4]
    assert [claim.share.amount_fen for claim in claims] == list(amounts_fen(packet.terms))
    assert town.queue.refs == [claim.share.ref for claim in claims]


def test_asking_again_gives_the_same_share_and_queues_nothing(town: Town) -> None:
    packet = town.send()
    first = town.grab(packet, "ann")
    town.pass_time(500)

    again = town.grab(packet, "ann")

    assert again.share == first.share
    assert (first.is_new, again.is_new) == (True, False)
    assert len(town.queue.refs) == 1


def test_a_repeat_after_the_packet_is_emptied_or_closed_still_knows_the_share(town: Town) -> None:
    packet = town.send(count=1)
    first = town.grab(packet, "ann")

    assert town.grab(packet, "ann").share == first.share
    town.settle()
    town.pass_time(61_000)
    town.expire()

    assert town.grab(packet, "ann").share.amount_fen == first.share.amount_fen


def test_losers_never_touch_the_ledger_or_the_queue(town: Town) -> None:
    packet = town.send(count=1)
    town.grab(packet, "ann")
    town.packets, town.ledger = town.adapters(None)  # anything asked of it would fail

    with pytest.raises(PacketEmptied):
        town.grab(packet, "bob")

    town.packets, town.ledger = town.adapters(town.dynamo)


def test_an_expired_packet_refuses(town: Town) -> None:
    packet = town.send()
    town.pass_time(61_000)

    with pytest.raises(PacketExpired):
        town.grab(packet, "ann")


def test_a_packet_that_nobody_sent_is_not_found(town: Town) -> None:
    with pytest.raises(PacketNotFound):
        town.grab(a_packet(), "ann")


def test_a_packet_that_the_cache_lost_is_loaded_with_its_claims(town: Town) -> None:
    packet = town.send()
    first = town.grab(packet, "ann")
    town.memory.boards.clear()

    second = town.grab(packet, "bob")

    assert second.share.share_no == 2
    assert town.grab(packet, "ann").share == first.share


def test_a_large_packet_that_the_cache_lost_is_loaded_by_one_of_the_crowd(town: Town) -> None:
    packet = town.send(total_fen=5_000, count=1_001)
    share = town.grab(packet, "ann").share
    town.memory.boards.clear()
    assert town.board.begin_load(packet.packet_id, 0, 3_000)  # the first of them

    with pytest.raises(Unavailable, match="being loaded"):
        town.grab(packet, "bob")

    assert town.memory.boards == {}
    town.pass_time(3_000)  # the first has died
    assert town.grab(packet, "ann").share == share
    assert town.grab(packet, "bob").is_new


@pytest.mark.parametrize("count", [5, 1_001])
def test_a_crowd_that_waits_for_a_load_reads_nothing(
    town: Town, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    packet = town.send(count=count, total_fen=2_000)
    town.memory.boards.clear()
    assert town.board.begin_load(packet.packet_id, 0, 60_000)
    reads = Mock(wraps=town.dynamo.get_item)
    monkeypatch.setattr(town.dynamo, "get_item", reads)

    for number in range(50):
        with pytest.raises(Unavailable, match="being loaded"):
            town.grab(packet, f"user-{number}")

    assert reads.call_count == 0


def test_who_waits_for_a_load_is_answered_as_soon_as_it_is_done(town: Town) -> None:
    packet = town.send()
    town.memory.boards.clear()
    assert town.board.begin_load(packet.packet_id, 0, 60_000)
    look, looks = town.memory.grab, []

    def grab(packet_id: str, user_id: str) -> GrabOutcome:
        looks.append(town.clock.now_ms())
        if len(looks) == 3:
            town.board.load(packet, [])
        return look(packet_id, user_id)

    town.memory.grab = grab  # type: ignore[method-assign]

    assert town.grab(packet, "ann").is_new
    assert looks[2] - looks[0] == sum(WAITS_MS[:2])


def test_a_loader_that_dies_costs_the_others_no_answer(town: Town) -> None:
    packet = town.send()
    town.memory.boards.clear()
    assert town.board.begin_load(packet.packet_id, 0, 300)
    began_at_ms = town.clock.now_ms()

    assert town.grab(packet, "ann").is_new
    assert town.clock.now_ms() - began_at_ms == sum(WAITS_MS) > 300


def test_a_turn_ends_with_the_load_and_does_not_outlive_it(town: Town) -> None:
    packet = town.send()
    town.memory.boards.clear()
    town.grab(packet, "ann")

    assert town.board.begin_load(packet.packet_id, 0, 300)


def test_a_load_that_failed_keeps_its_turn_so_that_the_crowd_does_not_try_one_after_the_other(
    town: Town,
) -> None:
    packet = town.send()
    town.memory.boards.clear()
    town.packets, _ = town.adapters(_Away())

    with pytest.raises(Unavailable):
        town.grab(packet, "ann")

    assert not town.board.begin_load(packet.packet_id, 0, 300)
    town.packets, town.ledger = town.adapters(town.dynamo)


@pytest.mark.parametrize(("count", "life_ms"), [(1_000, 300), (1_001, 3_000)])
def test_a_large_load_gets_more_time(
    town: Town, monkeypatch: pytest.MonkeyPatch, count: int, life_ms: int
) -> None:
    packet = town.send(count=count, total_fen=2_000)
    town.memory.boards.clear()
    load, free_ms = town.memory.load, []

    def slowly(*arguments: Any) -> None:
        while not town.board.begin_load(packet.packet_id, 0, 1):
            town.clock.sleep_ms(50)
            free_ms.append(50)
        load(*arguments)

    monkeypatch.setattr(town.memory, "load", slowly)
    town.grab(packet, "ann")

    assert sum(free_ms) == life_ms


def test_a_packet_that_is_not_there_keeps_nobody_waiting(town: Town) -> None:
    unknown = a_packet()
    began_at_ms = town.clock.now_ms()

    for _ in range(3):
        with pytest.raises(PacketNotFound):
            town.grab(unknown, "ann")

    assert town.clock.now_ms() == began_at_ms


def test_who_gets_a_turn_after_the_load_was_done_does_not_load_again(town: Town) -> None:
    packet = town.send()
    town.packets, town.ledger = town.adapters(None)  # anything asked of it would fail

    assert load_among_many(packet.packet_id, 0, packets=town.packets, board=town.board)

    town.packets, town.ledger = town.adapters(town.dynamo)


def test_a_collision_loads_after_a_loader_that_died(town: Town) -> None:
    packet = town.send(count=3)
    snapshot = town.memory.snapshot()
    for user in ("ann", "bob"):
        town.grab(packet, user)
    town.memory.fail_over(snapshot)
    assert town.board.begin_load(packet.packet_id, 0, 300)

    assert town.grab(packet, "cat").share.share_no == 3
    # The cache knows the owners again, before anybody is refused because all is taken.
    owned = {"ann": 1, "bob": 2, "cat": 3}
    assert town.board.held_numbers(packet.packet_id, owned) == owned
    assert town.board.begin_load(packet.packet_id, 0, 300)


def test_a_collision_does_not_load_beside_a_load_that_takes_long(
    town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    packet = town.send(count=3)
    snapshot = town.memory.snapshot()
    town.grab(packet, "ann")
    town.memory.fail_over(snapshot)
    reads = Mock(wraps=town.packets.list_part_shares)
    monkeypatch.setattr(type(town.packets), "list_part_shares", reads)
    assert town.board.begin_load(packet.packet_id, 0, 10_000)

    assert town.grab(packet, "cat").share.share_no == 2
    assert reads.call_count == 0


def test_a_collision_in_a_large_packet_does_not_wait_for_whoever_loads_it(town: Town) -> None:
    packet = town.send(total_fen=5_000, count=1_001)
    snapshot = town.memory.snapshot()
    town.grab(packet, "ann")
    town.memory.fail_over(snapshot)
    assert town.board.begin_load(packet.packet_id, 0, 3_000)

    assert town.grab(packet, "bob").share.share_no == 2
    assert town.journal.events == ["share_collision"]


def test_a_claim_whose_durable_write_was_cut_off_is_completed_by_the_retry(town: Town) -> None:
    packet = town.send()
    # The Lambda died between the cache and the ledger.
    town.memory.grab(packet.packet_id, "ann")

    claim = town.grab(packet, "ann")

    assert (claim.share.share_no, claim.is_new) == (1, True)


def test_the_last_claim_is_completed_although_the_packet_is_emptied(town: Town) -> None:
    packet = town.send(count=1)
    town.memory.grab(packet.packet_id, "ann")

    assert town.grab(packet, "ann").share.amount_fen == packet.terms.total_fen


def test_a_winner_hears_of_their_share_even_where_the_queue_is_away(town: Town) -> None:
    packet = town.send()
    town.payouts = QueueThatIsAway()

    claim = town.grab(packet, "ann")

    assert claim.is_new
    assert [name for name, _ in town.journal.errors] == ["payout_not_queued"]
    town.payouts = town.queue
    town.pass_time(60_001)
    assert town.repair() == (1, 0)
    town.settle()
    assert town.balance_fen("ann") == claim.share.amount_fen


def test_after_a_failover_a_share_that_is_somebodys_is_not_given_twice(town: Town) -> None:
    packet = town.send(count=3)
    for user in ("ann", "bob"):
        town.grab(packet, user)
    # The replica that took over had seen nothing of it.
    town.memory.boards.clear()
    town.memory.load(packet, [])

    claim = town.grab(packet, "cat")

    assert claim.share.share_no == 3
    assert town.journal.events == ["share_collision"]
    assert town.grab(packet, "ann").share.share_no == 1
    with pytest.raises(PacketEmptied):
        town.grab(packet, "dan")


def test_after_a_failover_an_owner_keeps_their_share_and_the_new_one_is_given_on(
    town: Town,
) -> None:
    packet = town.send(count=3)
    for user in ("ann", "bob"):
        town.grab(packet, user)
    town.memory.boards.clear()
    town.memory.load(packet, [])

    # The cache hands bob number 1, which is ann's; his is 2.
    claim = town.grab(packet, "bob")

    assert (claim.share.share_no, claim.is_new) == (2, False)
    assert town.journal.events == ["share_given_back"]
    assert town.grab(packet, "ann").share.share_no == 1
    assert town.grab(packet, "cat").share.share_no == 3


def test_an_owner_whom_a_failover_forgot_is_not_told_expired(town: Town) -> None:
    packet = town.send()
    before = town.memory.snapshot()
    claim = town.grab(packet, "ann")
    town.memory.fail_over(before)
    town.pass_time(61_000)  # its life is over, and no sweep has come yet

    again = town.grab(packet, "ann")

    assert (again.share, again.is_new) == (claim.share, False)
    with pytest.raises(PacketExpired):
        town.grab(packet, "bob")


def test_a_claim_in_flight_when_the_refund_came_is_told_expired(town: Town) -> None:
    packet = town.send(count=2)
    town.memory.grab(packet.packet_id, "ann")  # and her Lambda sleeps
    town.pass_time(61_000)
    town.expire()

    with pytest.raises(PacketExpired):
        town.grab(packet, "ann")

    assert town.balance_fen("sender") == 1000


def test_a_claim_in_flight_that_is_durable_before_the_refund_is_paid(town: Town) -> None:
    packet = town.send(count=2)
    share = a_claim(packet, 1, "ann")
    town.pass_time(61_000)
    closing = town.packets.begin_close(packet, town.clock.now_ms())
    town.packets.record_claim(share)

    town.expire()

    assert town.balance_fen("sender") == 1000 - share.amount_fen
    assert closing.status == "closing"
    town.settle([share.ref])
    assert town.expire().closed_count == 1
    assert town.balance_fen("ann") == share.amount_fen


def test_an_owner_whom_a_failover_forgot_is_told_the_truth_of_a_packet_that_is_closed(
    town: Town,
) -> None:
    packet = town.send(count=2)
    claims = {user: town.grab(packet, user).share for user in ("ann", "bob")}
    town.settle()
    # A replica that had seen the packet emptied by others.
    lost = town.memory.snapshot()
    lost[packet.packet_id]["users"] = {"cat": 1, "dan": 2}
    town.memory.fail_over(lost)

    told = {user: town.grab(packet, user).share.ref for user in claims}

    assert told == {user: share.ref for user, share in claims.items()}


def test_the_crowd_of_an_emptied_packet_reads_the_ledger_once_after_a_failover(town: Town) -> None:
    packet = town.send(count=1)
    town.grab(packet, "ann")
    town.settle()
    town.memory.fail_over(town.memory.snapshot())
    reads: list[str] = []

    class Counting(DynamoPackets):
        def list_part_shares(self, packet_id: str, part: int) -> list[ShareFate]:
            reads.append(packet_id)
            return super().list_part_shares(packet_id, part)

        def find_share_of(self, packet_id: str, user_id: str) -> ShareFate | None:
            raise AssertionError(user_id)

    town.packets = Counting(Dynamo(lambda: town.dynamo), "packets", "shares", "quotas")

    for number in range(20):
        with pytest.raises(PacketEmptied):
            town.grab(packet, f"late-{number}")

    assert reads == [packet.packet_id]
