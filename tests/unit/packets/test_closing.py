from dataclasses import replace
from unittest.mock import Mock

from redpacket.packets.model.claim import Claimer
from redpacket.packets.model.closing import RecoveryPoint, add_up, find_end, recovery_point
from redpacket.packets.model.packet import PacketEnd
from redpacket.packets.use_cases.close_packet import close_if_ended
from testing.builders import NOW_MS, a_claim, a_packet, a_packet_id, a_refund


def test_a_shard_has_no_end_before_every_share_has_an_outcome_and_every_claim_is_settled() -> None:
    packet = a_packet(count=3)
    claims = [a_claim(packet, number, "ann", settled_at_ms=NOW_MS) for number in (1, 3)]
    unsettled = a_claim(packet, 2, "bob")

    assert find_end(claims, 3) is None
    assert find_end([*claims, unsettled], 3) is None
    assert find_end([*claims, a_refund(packet, 2)], 3)
    assert find_end([*claims, replace(unsettled, settled_at_ms=NOW_MS)], 3)


def test_the_end_of_a_shard_sums_the_outcomes_of_its_shares() -> None:
    packet = a_packet(count=4)
    claims = [
        a_claim(packet, number, user_id, settled_at_ms=NOW_MS, amount_fen=fen)
        for number, user_id, fen in ((1, "ann", 30), (2, "bob", 70), (4, "cat", 70))
    ]
    refund = replace(a_refund(packet, 3), amount_fen=830, decided_at_ms=NOW_MS + 99)

    assert find_end([*claims, refund], 4) == PacketEnd(
        claimed_count=3,
        claimed_fen=170,
        refunded_count=1,
        refunded_fen=830,
        refunded_at_ms=NOW_MS + 99,
        last_claimed_at_ms=NOW_MS + 4,
        luckiest=Claimer(packet.packet_id, "bob", 2, 70, NOW_MS + 2),
    )


def test_the_end_of_a_packet_combines_the_ends_of_its_shards() -> None:
    ann, bob = Claimer("id", "ann", 3, 40, NOW_MS + 2), Claimer("id", "bob", 2, 40, NOW_MS + 1)
    first = PacketEnd(2, 50, 1, 10, NOW_MS + 5, NOW_MS + 2, ann)
    second = PacketEnd(1, 40, 2, 20, NOW_MS + 9, NOW_MS + 1, bob)
    third = PacketEnd(refunded_count=3, refunded_fen=60, refunded_at_ms=NOW_MS + 7)

    assert add_up([first, second, third]) == PacketEnd(3, 90, 6, 90, NOW_MS + 9, NOW_MS + 2, bob)
    assert add_up([third]) == third


def test_all_shards_are_refunded_before_the_cache_is_updated() -> None:
    packet = a_packet(count=3, packet_id=a_packet_id(3))
    refund, report = RecoveryPoint.SHARD_TO_REFUND, RecoveryPoint.SHARD_TO_TELL
    steps = {0: (refund, 0), 2: (refund, 2), 3: (report, 0), 5: (report, 2)}

    for step, place in {**steps, 6: (RecoveryPoint.PACKET_TO_CLOSE, 0)}.items():
        assert recovery_point(replace(packet, closing_step=step)) == place


def test_a_packet_with_an_unfinished_shard_is_not_closed() -> None:
    ports = Mock()
    ports.packets.list_shard_ends.return_value = [PacketEnd()]

    assert not close_if_ended(a_packet(packet_id=a_packet_id(2)), PacketEnd(), ports)
    assert ports.ledger.close.call_count == 0
