"""Amounts by the beacon: those of rains and packets in two steps are unknown until their round."""

from __future__ import annotations

import hashlib
import itertools
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from redpacket.domain.beacon import LATE_MS, MARGIN_MS, BeaconRound, PacketBeacon
from redpacket.domain.checks.facts import Difference
from redpacket.domain.claim import Admission, Claim
from redpacket.domain.errors import (
    BeaconPending,
    InvariantViolated,
    PacketEmptied,
    PacketNotStarted,
    ProofNotReady,
    RoundsAway,
    RoundUnknown,
    Unavailable,
)
from redpacket.domain.packet import Opening, Packet, PacketStatus, Person, Rules
from redpacket.domain.split import NO_ROUND, Split, Terms, amounts_fen, share_amount_fen
from redpacket.flows.packets.expire_packets import ROUND_AWAITED_MS
from redpacket.flows.packets.read_proof import Proof, read_proof
from redpacket.flows.reconciliation.audit_packet import audit_packet
from testing.builders import NOW_MS, a_campaign
from testing.in_memory_system import GRACE_MS, LIFE_MS, InMemorySystem, a_person, an_order
from tests.unit.test_beacon import CHAIN, QUICKNET, SIGNER, Endpoint, count_calls, fetch, new_rounds

HOUR_MS = 3_600_000
_keys = itertools.count(1)


def a_rain(system: InMemorySystem, starts_in_ms: int = 0, **changes: Any) -> Packet:
    """Send a campaign's packet whose amounts take a round."""
    starts_at_ms = system.clock.now_ms() + starts_in_ms
    campaign = a_campaign(starts_at_ms=starts_at_ms, ends_at_ms=starts_at_ms + HOUR_MS)
    assert system.campaigns.create(campaign)
    return send(system, campaign=campaign, **changes)


def a_two_step_packet(system: InMemorySystem, **changes: Any) -> Packet:
    return send(system, rules=Rules(opening=Opening.TWO_STEP), **changes)


def send(system: InMemorySystem, **changes: Any) -> Packet:
    order = an_order("sender", key=f"send-{next(system._ids)}", takes_round=True, **changes)
    system.deposit("sender", order.total_fen)
    return system.process(new_rounds=new_rounds(system)).send_packet(order)


def beacon_of(packet: Packet) -> PacketBeacon:
    return PacketBeacon.parse(packet.terms.beacon)


def audit(system: InMemorySystem, packet: Packet) -> list[Difference]:
    return audit_packet(
        packet.packet_id, packets=system.packets, ledger=system.ledger, clock=system.clock
    )


def let_round_come(system: InMemorySystem, packet: Packet) -> None:
    """Wait for a packet's round, as the fetcher keeps it."""
    beacon = beacon_of(packet)
    system.clock.at_ms = max(system.clock.at_ms, beacon.chain.time_ms(beacon.round_no) + 1_000)
    fetch(system, Endpoint(system), 0)


def grab_later(system: InMemorySystem, packet: Packet, user_id: str) -> Claim:
    claim = system.grab(packet, user_id)
    system.settle()
    return claim


# ---------------------------------------------------------------- which round, and what it decides


def test_a_packet_takes_the_first_round_ten_seconds_after_its_start_and_its_commitment(
    system: InMemorySystem,
) -> None:
    soon, later = a_two_step_packet(system), a_rain(system, starts_in_ms=HOUR_MS)

    for packet in (soon, later):
        beacon = beacon_of(packet)
        from_ms = max(packet.starts_at_ms, packet.created_at_ms) + MARGIN_MS
        assert CHAIN.time_ms(beacon.round_no) - from_ms in range(3_000)
        assert beacon.starts_at_ms == packet.starts_at_ms


def test_a_round_that_no_endpoint_has_stays_on_the_list(system: InMemorySystem) -> None:
    packet = a_two_step_packet(system)
    system.clock.at_ms = CHAIN.time_ms(beacon_of(packet).round_no) + 1_000

    fetch(system, Endpoint(system, late_ms=None), 0)
    fetch(system, Endpoint(system), 0)

    assert system.rounds.find(CHAIN.chain_hash, beacon_of(packet).round_no)


def test_a_clock_that_is_behind_names_a_round_that_is_to_come(system: InMemorySystem) -> None:
    known = CHAIN.first_round(NOW_MS + 60_000)
    system.rounds.keep(CHAIN.chain_hash, BeaconRound(known, SIGNER.signature(known)))

    assert beacon_of(a_two_step_packet(system)).round_no > known


def test_the_round_is_asked_for_before_the_packet_is_funded(system: InMemorySystem) -> None:
    wanted: list[list[int]] = []
    system.before_each_transaction(
        lambda _: wanted.append(system.rounds.list_wanted(CHAIN.chain_hash, NOW_MS + HOUR_MS, 10))
    )

    packet = a_two_step_packet(system)

    # Of the deposit, and of the send.
    assert wanted == [[], [beacon_of(packet).round_no]]


@pytest.mark.parametrize("split", [split for split in Split if split is not Split.EQUAL])
def test_amounts_are_of_the_seed_and_of_the_round(split: Split) -> None:
    beacon = str(PacketBeacon(CHAIN, NOW_MS, NOW_MS))
    terms = Terms(split, 10_000, 20, 1, 2_000, 1, b"0" * 16, beacon=beacon)

    def by(signature: str) -> list[int]:
        return list(amounts_fen(replace(terms, signature=signature)))

    one, other = SIGNER.signature(1).hex(), SIGNER.signature(2).hex()
    made = [by(one), by(other), by(NO_ROUND)]

    assert [sum(amounts) for amounts in made] == [10_000] * 3
    assert made[0] == by(one)
    assert len({tuple(amounts) for amounts in made}) == 3
    with pytest.raises(RoundUnknown):
        amounts_fen(terms)
    with pytest.raises(RoundUnknown):
        share_amount_fen(terms, 1)


def test_the_commitment_is_of_the_round_and_known_before_it() -> None:
    terms = Terms(Split.BELL, 10_000, 20, 1, 2_000, 1, b"0" * 16)
    first = replace(terms, beacon=str(PacketBeacon(CHAIN, NOW_MS, NOW_MS)))
    later = replace(terms, beacon=str(PacketBeacon(CHAIN, NOW_MS, NOW_MS + 1)))
    elsewhere = replace(terms, beacon=str(PacketBeacon(QUICKNET, NOW_MS, NOW_MS)))

    assert len({each.commitment for each in (terms, first, later, elsewhere)}) == 4
    assert replace(first, signature="00").commitment == first.commitment
    assert str(terms).startswith("rp1,bell,10000,20,1,2000,1,MDAw")
    assert str(first) == f"rp2{str(terms)[3:]},{first.beacon}"
    for each in (terms, first):
        assert Terms.parse(str(each)) == each
        sealed = replace(each, seed=b"", sealed=b"1" * 16)
        assert Terms.parse(sealed.stored) == sealed


@pytest.mark.parametrize("text", ["rp2,{}", "rs2,{}", "rp1,{},a,1,3,1,1", "rp3,{}", "rx1,{}"])
def test_other_forms_of_terms_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="unknown form"):
        Terms.parse(text.format("bell,10000,20,1,2000,1,AAECAwQFBgcICQoLDA0ODw"))


# ---------------------------------------------------------------- who would cheat


def test_an_insider_with_all_rows_and_keys_knows_no_amount_before_the_round(
    system: InMemorySystem,
) -> None:
    packet = a_rain(system, starts_in_ms=HOUR_MS, count=10, total_fen=10_000)
    row = system.packets.find_packet(packet.packet_id)
    assert row
    assert row.terms.seed == packet.terms.seed  # all that there is to know
    with pytest.raises(RoundUnknown):
        amounts_fen(row.terms)

    # Any share may be the largest one: what they know does not tell which.
    luckiest = Counter[int]()
    for round_no in range(500):
        signature = hashlib.sha256(str(round_no).encode()).hexdigest()
        amounts = list(amounts_fen(replace(row.terms, signature=signature)))
        luckiest[amounts.index(max(amounts))] += 1

    assert len(luckiest) == 10
    assert max(luckiest.values()) < 100  # of about 50 each


@pytest.mark.parametrize(("beacon", "is_chosen"), [(str(PacketBeacon(CHAIN, 1, 1)), 0), ("", 1)])
def test_an_operator_who_tries_seeds_gets_no_better_amounts(
    beacon: str,
    is_chosen: bool,  # noqa: FBT001 - without a round, as before: the control
) -> None:
    terms = Terms(Split.DOUBLE_MEAN, 10_000, 10, 1, 20_000, 1, b"0" * 16, beacon=beacon)
    first_fen = []
    for trial in range(60):

        def first(seed: bytes, signature: str) -> int:
            return share_amount_fen(replace(terms, seed=seed, signature=signature), 1)

        seeds = [f"{trial:08d}{number:08d}".encode() for number in range(20)]
        best = max(seeds, key=lambda seed: first(seed, "aa"))
        first_fen.append(first(best, f"{trial:04x}" if beacon else ""))

    # The fair share is 1,000 fen; the best of 20 seeds has about 1,900 of it.
    assert (sum(first_fen) / 60 > 1_500) is bool(is_chosen)


# ---------------------------------------------------------------- what takers see


def test_a_rain_gives_no_share_before_its_round(system: InMemorySystem) -> None:
    packet = a_rain(system, starts_in_ms=HOUR_MS)
    with pytest.raises(PacketNotStarted):
        system.grab(packet, "ann")
    system.clock.at_ms = packet.starts_at_ms
    with pytest.raises(BeaconPending) as refusal:
        system.grab(packet, "ann")
    assert refusal.value.retry_after_s in range(10, 16)
    assert system.packets.list_shares(packet.packet_id) == []
    assert system.memory.holders(packet.packet_id) == {}

    let_round_come(system, packet)
    claims = [grab_later(system, packet, user) for user in ("ann", "bob", "cat", "dan")]

    assert sum(claim.share.amount_fen for claim in claims) == packet.terms.total_fen
    found = system.packets.find_packet(packet.packet_id)
    assert found
    assert found.status is PacketStatus.CLOSED
    assert found.terms.signature == SIGNER.signature(beacon_of(packet).round_no).hex()
    assert [claim.share.amount_fen for claim in claims] == list(amounts_fen(found.terms))
    assert system.differences(bound_ms=60_000) == []


def test_a_packet_in_two_steps_admits_before_its_round_and_opens_after_it(
    system: InMemorySystem,
) -> None:
    packet = a_two_step_packet(system)
    admission = system.grab_or_enter(packet, "ann")
    assert isinstance(admission, Admission)
    with pytest.raises(BeaconPending):
        system.open(packet, "ann", admission.grab_token)
    assert system.packets.list_shares(packet.packet_id) == []
    assert system.memory.holders(packet.packet_id) == {}

    let_round_come(system, packet)

    claim = system.open(packet, "ann", admission.grab_token)
    assert claim.is_new
    assert system.open(packet, "ann", admission.grab_token).share == claim.share
    assert system.settle() == set()
    assert system.differences() == []


def test_a_crowd_that_waits_costs_the_ledger_nothing(system: InMemorySystem) -> None:
    packet = a_rain(system)
    process = system.process()
    with pytest.raises(BeaconPending):
        process.grab_packet(packet.packet_id, a_person("first"), None)

    reads = count_calls(system, "get_item", "batch_get_item", "query")
    for number in range(30):
        with pytest.raises(BeaconPending):
            process.grab_packet(packet.packet_id, a_person(f"user-{number}"), None)
    assert [table for table in reads if table in {"transparency", "packets"}] == []

    # Late: once a second. There: once a process.
    system.clock.at_ms = CHAIN.time_ms(beacon_of(packet).round_no) + 1
    for number in range(20):
        with pytest.raises(BeaconPending):
            process.grab_packet(packet.packet_id, a_person(f"user-{number}"), None)
        system.pass_time(100)
    assert reads.count("transparency") == 2
    let_round_come(system, packet)
    reads.clear()
    for number in range(3):
        process.grab_packet(packet.packet_id, a_person(f"user-{number}"), None)
    assert reads.count("transparency") == 1


def test_a_packet_that_takes_no_round_reads_none(system: InMemorySystem) -> None:
    packet = system.send(rules=Rules(opening=Opening.TWO_STEP))
    admission = system.grab_or_enter(packet, "ann")
    assert isinstance(admission, Admission)
    reads = count_calls(system, "get_item", "query")

    system.open(packet, "ann", admission.grab_token)

    assert "transparency" not in reads


def test_a_rain_in_parts_takes_one_round(system: InMemorySystem) -> None:
    system.part_share_count = 3
    packet = a_rain(system, count=12, total_fen=6_000)
    let_round_come(system, packet)

    for number in range(12):
        grab_later(system, packet, f"user-{number}")
    with pytest.raises(PacketEmptied):
        system.grab(packet, "late")

    assert system.differences(bound_ms=60_000) == []


# ---------------------------------------------------------------- rounds that can't be read


class RoundsFail:
    """Rounds whose table does not answer; *asked* counts who tried."""

    def __init__(self) -> None:
        self.asked = 0

    def find(self, chain_hash: str, round_no: int) -> BeaconRound:
        self.asked += 1
        raise Unavailable("throttled")


def test_a_crowd_asks_a_table_that_does_not_answer_once_a_second(system: InMemorySystem) -> None:
    packet, rounds = a_rain(system), RoundsFail()
    system.pass_time(20_000)
    process = system.process(rounds=rounds)

    for number in range(30):
        with pytest.raises(BeaconPending):
            process.grab_packet(packet.packet_id, a_person(f"user-{number}"), None)
        system.pass_time(50)

    assert rounds.asked == 2


@pytest.mark.parametrize("can_be_read", [True, False])
def test_a_wait_for_a_round_is_late_half_a_minute_after_its_time(
    system: InMemorySystem, *, can_be_read: bool
) -> None:
    # An operator has to know, also where the round is there and a function can't read it.
    packet = a_rain(system)
    process = system.process() if can_be_read else system.process(rounds=RoundsFail())
    due_ms = CHAIN.time_ms(beacon_of(packet).round_no)
    told = {}

    for late_ms in (-1, 0, LATE_MS - 1, LATE_MS, HOUR_MS // 2):
        system.clock.at_ms = due_ms + late_ms
        with pytest.raises(BeaconPending) as refusal:
            process.grab_packet(packet.packet_id, a_person("ann"), None)
        told[late_ms] = refusal.value.is_late

    assert [late_ms for late_ms, is_late in told.items() if is_late] == [LATE_MS, HOUR_MS // 2]


def test_a_crowd_of_a_new_process_reads_the_rules_once_where_rounds_stay_away(
    system: InMemorySystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    packet = a_rain(system)
    system.pass_time(20_000)
    system.stand_on(system.dynamo)
    process, real = system.process(), system.dynamo.get_item
    reads: list[str] = []

    def get_item(**arguments: Any) -> Any:
        reads.append(arguments["TableName"])
        if arguments["TableName"] == "transparency":
            raise Unavailable("throttled")
        return real(**arguments)

    with monkeypatch.context() as away:
        away.setattr(system.dynamo, "get_item", get_item)
        for number in range(20):
            with pytest.raises(BeaconPending):
                process.grab_packet(packet.packet_id, a_person(f"user-{number}"), None)

    assert (reads.count("packets"), reads.count("transparency")) == (1, 1)


def test_a_claim_whose_round_can_not_be_read_keeps_no_other_from_being_paid(
    system: InMemorySystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    rain, chat = a_rain(system), system.send()
    let_round_come(system, rain)
    claims = [system.grab(packet, user).share for packet, user in ((rain, "ann"), (chat, "bob"))]
    # A process that has read no round yet.
    system.stand_on(system.dynamo)
    real = system.dynamo.get_item

    def get_item(**arguments: Any) -> Any:
        if arguments["TableName"] == "transparency":
            raise Unavailable("throttled")
        return real(**arguments)

    with monkeypatch.context() as away:
        away.setattr(system.dynamo, "get_item", get_item)
        assert system.settle() == {claims[0].ref}
        away.setattr(system.clock, "at_ms", rain.expires_at_ms + 2 * ROUND_AWAITED_MS)
        # And no end is decided without knowing whether there is a round.
        assert system.expire().failed_count == 1
    assert system.balance_fen("bob") == claims[1].amount_fen
    # The claim is not blamed: an alarm would say that somebody forged it.
    assert not any(isinstance(error, InvariantViolated) for _, error in system.journal.errors)
    system.pass_time(2_000)
    assert system.settle([claims[0].ref]) == set()


def test_a_claim_by_a_round_that_is_not_there_for_others_yet_is_not_blamed(
    system: InMemorySystem,
) -> None:
    packet = a_rain(system)
    let_round_come(system, packet)
    claim = system.grab(packet, "ann")
    claimed_at_ms = system.clock.at_ms
    # A process that has read no round yet, and whose clock is behind.
    system.stand_on(system.dynamo)
    system.clock.at_ms = CHAIN.time_ms(beacon_of(packet).round_no) - 1_500

    assert system.settle() == {claim.share.ref}
    assert audit(system, packet) == []
    assert [type(error) for _, error in system.journal.errors] == [RoundsAway]
    system.clock.at_ms = claimed_at_ms
    assert system.settle([claim.share.ref]) == set()


# ---------------------------------------------------------------- ends


def test_what_is_left_goes_back_by_the_same_amounts(system: InMemorySystem) -> None:
    packet = a_two_step_packet(system)
    admission = system.grab_or_enter(packet, "ann")
    assert isinstance(admission, Admission)
    let_round_come(system, packet)
    share = system.open(packet, "ann", admission.grab_token).share
    system.settle()
    system.clock.at_ms = packet.expires_at_ms + 1

    report = system.expire()

    assert (report.closed_count, report.failed_count) == (1, 0)
    assert report.refunded_fen == packet.terms.total_fen - share.amount_fen
    assert system.differences(bound_ms=60_000) == []


def test_a_round_that_never_comes_is_awaited_for_a_minute_and_then_all_goes_back(
    system: InMemorySystem,
) -> None:
    packet = a_two_step_packet(system)
    system.clock.at_ms = packet.expires_at_ms + 1

    first = system.expire()
    waiting = system.packets.find_packet(packet.packet_id)
    again = system.expire()
    system.clock.at_ms = packet.expires_at_ms + ROUND_AWAITED_MS
    last = system.expire()

    assert waiting
    assert waiting.status is PacketStatus.OPEN
    assert (first.closed_count, again.closed_count, last.closed_count) == (0, 0, 1)
    assert last.refunded_fen == packet.terms.total_fen
    assert system.balance_fen("sender") == packet.terms.total_fen
    assert system.journal.events.count("beacon_round_given_up") == 1
    # What comes later changes nothing of it.
    beacon = beacon_of(packet)
    signature = SIGNER.signature(beacon.round_no)
    system.rounds.keep(CHAIN.chain_hash, BeaconRound(beacon.round_no, signature))
    found = system.packets.find_packet(packet.packet_id)
    assert found
    assert found.terms.signature == NO_ROUND
    assert system.differences(bound_ms=ROUND_AWAITED_MS + GRACE_MS + LIFE_MS) == []
    assert system.reconcile().differences == []


def test_a_round_that_comes_while_it_is_awaited_is_taken(system: InMemorySystem) -> None:
    packet = a_two_step_packet(system)
    system.clock.at_ms = packet.expires_at_ms + 1
    system.expire()
    let_round_come(system, packet)
    system.clock.at_ms = packet.expires_at_ms + ROUND_AWAITED_MS

    assert system.expire().closed_count == 1

    found = system.packets.find_packet(packet.packet_id)
    assert found
    assert found.terms.signature == SIGNER.signature(beacon_of(packet).round_no).hex()


# ---------------------------------------------------------------- proofs and forgers


def proof(system: InMemorySystem, packet: Packet) -> Proof:
    viewer = Person("ann")
    return read_proof(packet.packet_id, viewer, after_no=0, limit=100, packets=system.packets)


def test_the_proof_has_the_round(system: InMemorySystem) -> None:
    packet = a_rain(system, count=2)
    let_round_come(system, packet)
    claims = [system.grab(packet, user) for user in ("ann", "bob")]

    # Emptied, and not settled yet.
    found = proof(system, packet)

    assert found.amounts_fen == [claim.share.amount_fen for claim in claims]
    assert found.terms.signature == SIGNER.signature(beacon_of(packet).round_no).hex()


def test_a_packet_that_waits_proves_nothing(system: InMemorySystem) -> None:
    with pytest.raises(ProofNotReady):
        proof(system, a_rain(system))


def test_a_claim_that_is_forged_before_the_round_is_told_and_not_paid() -> None:
    system = InMemorySystem()  # whose differences are not empty in the end
    packet = a_rain(system)
    let_round_come(system, packet)
    share = system.grab(packet, "ann").share
    assert system.settle() == set()
    waiting = a_rain(system, starts_in_ms=HOUR_MS)
    forged = replace(share, packet_id=waiting.packet_id, amount_fen=900)
    system.claims.record_claim(forged, None)

    assert system.settle([forged.ref]) == {forged.ref}

    errors = [error for name, error in system.journal.errors if name == "claim_refused"]
    assert [type(error) for error in errors] == [RoundUnknown]
    found = [each for each in system.differences() if each.rule == "I3"]
    assert [(each.subject, each.actual) for each in found] == [(waiting.packet_id, 900)]
    assert waiting.packet_id in str(system.reconcile().differences)
