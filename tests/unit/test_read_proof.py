from __future__ import annotations

import pytest

from redpacket.domain.errors import PacketNotFound, ProofNotReady
from redpacket.domain.packet import Packet, Person, Rules
from redpacket.domain.split import Split, amounts_fen
from redpacket.flows.packets.read_proof import Proof, read_proof
from tests.town import Town


def prove(town: Town, packet: Packet, after_no: int = 0, limit: int = 100) -> Proof:
    return _read(town, packet.packet_id, "ann", after_no, limit)


def _read(town: Town, packet_id: str, viewer: str, after_no: int = 0, limit: int = 100) -> Proof:
    return read_proof(
        packet_id, Person(viewer), after_no=after_no, limit=limit, packets=town.packets
    )


def test_there_is_no_proof_while_a_share_is_free(town: Town) -> None:
    packet = town.send(count=3)
    for user in ("ann", "bob"):
        town.grab(packet, user)

    with pytest.raises(ProofNotReady):
        prove(town, packet)


def test_the_last_claim_reveals_the_seed_before_it_is_settled(town: Town) -> None:
    packet = town.send(count=3)
    for user in ("ann", "bob", "cid"):
        town.grab(packet, user)

    proof = prove(town, packet)

    assert proof.terms == packet.terms
    assert list(proof.amounts_fen) == list(amounts_fen(packet.terms))
    assert proof.next is None


def test_a_number_that_the_cache_has_handed_out_is_no_claim_yet(town: Town) -> None:
    packet = town.send(count=2)
    town.grab(packet, "ann")
    town.board.grab(packet.packet_id, "bob")

    with pytest.raises(ProofNotReady):
        prove(town, packet)


def test_the_last_number_alone_does_not_empty_a_packet(town: Town) -> None:
    packet = town.send(count=3)
    # A failover made the cache forget a number that nobody got durably.
    town.board.grab(packet.packet_id, "lost")
    for user in ("ann", "bob"):
        town.grab(packet, user)

    with pytest.raises(ProofNotReady):
        prove(town, packet)


def test_a_closing_packet_has_no_proof_and_a_closed_one_has(town: Town) -> None:
    packet = town.send(count=3)
    claim = town.grab(packet, "ann")
    town.pass_time(61_000)
    town.expire()

    with pytest.raises(ProofNotReady):  # ann's settlement is waited for
        prove(town, packet)
    town.settle([claim.share.ref])
    town.expire()

    assert sum(prove(town, packet).amounts_fen) == packet.terms.total_fen


@pytest.mark.parametrize("split", [Split.DOUBLE_MEAN, Split.DOUBLE_MEAN_LIVE, Split.CUT_POINTS])
def test_the_pages_of_a_proof_are_the_whole(town: Town, split: Split) -> None:
    packet = town.send(count=5, split=split)
    town.pass_time(61_000)
    town.expire()

    first = prove(town, packet, limit=2)
    second = prove(town, packet, int(first.next or 0), limit=2)
    third = prove(town, packet, int(second.next or 0), limit=2)

    assert [first.first_share_no, second.first_share_no, third.first_share_no] == [1, 3, 5]
    pages = (first, second, third)
    assert [fen for page in pages for fen in page.amounts_fen] == list(amounts_fen(packet.terms))
    assert third.next is None
    assert list(prove(town, packet, 5).amounts_fen) == []


def test_a_packet_that_does_not_exist_has_no_proof(town: Town) -> None:
    with pytest.raises(PacketNotFound):
        _read(town, "p" * 22, "ann")


def test_the_proof_of_an_exclusive_packet_is_shown_to_no_stranger(town: Town) -> None:
    packet = town.send(count=1, rules=Rules(recipients=frozenset({"ann"})))
    town.grab(packet, "ann")

    for viewer in ("ann", "sender"):
        assert _read(town, packet.packet_id, viewer).terms == packet.terms
    with pytest.raises(PacketNotFound):
        _read(town, packet.packet_id, "eve")


def test_a_stranger_does_not_hear_how_far_an_exclusive_packet_is(town: Town) -> None:
    packet = town.send(count=2, rules=Rules(recipients=frozenset({"ann"})))

    with pytest.raises(PacketNotFound):
        _read(town, packet.packet_id, "eve")
