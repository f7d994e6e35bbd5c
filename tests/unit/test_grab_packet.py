from __future__ import annotations

from collections.abc import Iterable
from unittest.mock import Mock

import pytest

from redpacket.domain.claim import ShareRef
from redpacket.domain.errors import (
    PacketEmptied,
    PacketExpired,
    PacketNotFound,
    Unavailable,
)
from redpacket.domain.split import amounts_fen
from tests.builders import a_claim, a_packet
from tests.fakes import FakeQueue
from tests.town import Town


class QueueThatIsAway(FakeQueue):
    def put(self, refs: Iterable[ShareRef], *, delay_s: int = 0) -> None:
        raise Unavailable("the payout queue does not answer")


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


def test_a_crowd_that_waits_for_a_load_reads_the_packets_row_once(
    town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    packet = town.send(count=1001, total_fen=1001)
    town.memory.boards.clear()
    assert town.board.begin_load(packet.packet_id, 0, 3_000)
    reads = Mock(wraps=town.dynamo.get_item)
    monkeypatch.setattr(town.dynamo, "get_item", reads)

    for number in range(50):
        with pytest.raises(Unavailable, match="being loaded"):
            town.grab(packet, f"user-{number}")

    assert reads.call_count == 1


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
