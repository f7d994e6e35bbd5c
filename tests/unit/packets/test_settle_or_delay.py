"""Payout of a batch: settle it and store names, or delay it while payouts are off."""

from redpacket.operations.model.switches import Switch
from redpacket.packets.model.claim import ShareRef
from redpacket.platform.user import User
from testing.fakes import Away
from testing.in_memory_system import InMemorySystem


def a_named_claim(system: InMemorySystem) -> ShareRef:
    """Let ann grab the only share; return the claim that her message names."""
    packet = system.send(count=1, total_fen=100)
    share = system.grab(packet, "ann").share
    system.queue.take_all()
    return ShareRef(packet.packet_id, share.share_no, User("ann", host_id="ann@host"))


def test_a_claim_is_paid_and_its_claimer_stored(system: InMemorySystem) -> None:
    ref = a_named_claim(system)

    assert system.settle([ref]) == set()

    assert system.balance_fen("ann") == 100
    assert system.host_ids()["ann"] == "ann@host"


def test_while_payouts_are_off_a_claim_is_queued_for_later(system: InMemorySystem) -> None:
    ref = a_named_claim(system)
    system.turn_off(Switch.PAYOUT)

    assert system.settle([ref]) == set()

    assert system.balance_fen("ann") == 0
    assert "ann" not in system.host_ids()
    assert (system.queue.refs, system.queue.delays_s[-1]) == ([ref], 10)
    assert system.logger.events == ["payouts_paused"]


def test_another_switch_delays_no_payout(system: InMemorySystem) -> None:
    ref = a_named_claim(system)
    system.turn_off(Switch.REFUND)

    assert system.settle([ref]) == set()

    assert system.balance_fen("ann") == 100


def test_money_is_paid_before_names_are_stored_and_a_repeat_for_a_name_pays_once(
    system: InMemorySystem,
) -> None:
    ref = a_named_claim(system)

    process = system.process(profiles=Away())
    assert process.settle_or_delay([ref], is_on=process.stored_switches.is_on) == {ref}
    assert system.balance_fen("ann") == 100
    assert system.settle([ref]) == set()

    assert system.balance_fen("ann") == 100
    assert system.host_ids()["ann"] == "ann@host"
