import pytest

from redpacket.packets.errors import PacketNotFound, ProofNotReady
from redpacket.packets.model.packet import Packet, Rules
from redpacket.packets.split import Split, amounts_fen
from redpacket.packets.use_cases.read_proof import Proof, read_proof
from redpacket.platform.user import User
from testing.in_memory_system import InMemorySystem


def prove(system: InMemorySystem, packet: Packet, after_no: int = 0, limit: int = 100) -> Proof:
    return _read(system, packet.packet_id, "ann", after_no, limit)


def _read(
    system: InMemorySystem, packet_id: str, viewer: str, after_no: int = 0, limit: int = 100
) -> Proof:
    return read_proof(
        packet_id, User(viewer), after_no=after_no, limit=limit, packets=system.packets
    )


@pytest.mark.parametrize("lost", ["free", "handed out", "forgotten"])
def test_there_is_no_proof_while_a_share_is_unclaimed(system: InMemorySystem, lost: str) -> None:
    """A share is free, or only the cache has given it out: as the last number, or as the first."""
    packet = system.send(count=3)
    if lost == "forgotten":
        system.claim_cache.grab(packet.packet_id, "lost")
    system.grab_all(packet, "ann", "bob")
    if lost == "handed out":
        system.claim_cache.grab(packet.packet_id, "cid")

    with pytest.raises(ProofNotReady):
        prove(system, packet)


def test_the_last_claim_reveals_the_seed_before_it_is_settled(system: InMemorySystem) -> None:
    packet = system.send(count=3)
    system.grab_all(packet, "ann", "bob", "cid")

    proof = prove(system, packet)

    assert proof.terms == packet.terms
    assert list(proof.amounts_fen) == list(amounts_fen(packet.terms))
    assert proof.next is None


def test_a_closed_packet_has_a_proof_and_a_closing_one_has_none(system: InMemorySystem) -> None:
    packet = system.send(count=3)
    claim = system.grab(packet, "ann")
    system.pass_time(61_000)
    system.expire()

    with pytest.raises(ProofNotReady):  # Ann's settlement is missing.
        prove(system, packet)
    system.settle([claim.share.ref])
    system.expire()

    assert sum(prove(system, packet).amounts_fen) == packet.terms.total_fen


@pytest.mark.parametrize("split", [Split.DOUBLE_MEAN, Split.DOUBLE_MEAN_LIVE, Split.CUT_POINTS])
def test_the_pages_of_a_proof_make_the_whole_proof(system: InMemorySystem, split: Split) -> None:
    packet = system.send(count=5, split=split)
    system.pass_time(61_000)
    system.expire()

    first = prove(system, packet, limit=2)
    second = prove(system, packet, int(first.next or 0), limit=2)
    third = prove(system, packet, int(second.next or 0), limit=2)

    assert [first.first_share_no, second.first_share_no, third.first_share_no] == [1, 3, 5]
    pages = (first, second, third)
    assert [fen for page in pages for fen in page.amounts_fen] == list(amounts_fen(packet.terms))
    assert third.next is None
    assert list(prove(system, packet, 5).amounts_fen) == []


def test_the_proof_of_an_exclusive_packet_is_shown_to_no_stranger(system: InMemorySystem) -> None:
    for_ann = Rules(recipients=frozenset({"ann"}))
    packet, open_yet = (system.send(count=count, rules=for_ann) for count in (1, 2))
    system.grab(packet, "ann")

    for viewer in ("ann", "sender"):
        assert _read(system, packet.packet_id, viewer).terms == packet.terms
    # A stranger does not learn whether a proof exists, or how large it is.
    for packet_id in (packet.packet_id, open_yet.packet_id, "p" * 22):
        with pytest.raises(PacketNotFound):
            _read(system, packet_id, "eve")
