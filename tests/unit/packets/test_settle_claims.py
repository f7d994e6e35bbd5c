from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import pytest

from redpacket.packets.dynamodb import keys
from redpacket.packets.model.claim import Claim, RecordStatus, ShareRef, claimer_of
from redpacket.packets.model.packet import PacketStatus, Rules
from redpacket.packets.split import share_amount_fen
from redpacket.packets.use_cases import settle_claims as settling
from redpacket.packets.use_cases.settle_claims import ASKED_AGAIN_MS
from redpacket.platform.dynamodb.client import ConflictPersists
from redpacket.platform.errors import Unavailable
from redpacket.platform.runtime import in_threads
from redpacket.reconciliation.use_cases.audit_packet import audit_packet
from testing.in_memory_system import LIFE_MS, InMemorySystem, a_person


def test_a_claim_is_credited_once_regardless_of_the_number_of_deliveries(
    system: InMemorySystem,
) -> None:
    packet = system.send()
    claim = system.grab(packet, "ann")

    assert system.settle([claim.share.ref] * 3) == set()
    assert system.settle([claim.share.ref]) == set()

    assert system.balance_fen("ann") == claim.share.amount_fen
    assert system.grab(packet, "ann").share.settled_at_ms


def test_a_batch_is_paid_in_transactions_of_ten_claims(system: InMemorySystem) -> None:
    packet = system.send(count=25)
    system.crowd(packet, 25)
    transactions: list[int] = []
    system.before_each_transaction(lambda operations: transactions.append(len(operations)))

    assert system.settle() == set()

    # Each claim has four rows: outcome, entry, receipt, balance. Closing writes the packet and the
    # counts of its sender and its luckiest claimer.
    assert transactions == [40, 40, 20, 3]
    assert sum(system.balance_fen(f"user-{number}") for number in range(25)) == 1000


def test_a_message_without_a_claim_fails_alone(system: InMemorySystem) -> None:
    packet = system.send()
    claim = system.grab(packet, "ann")
    places = (packet.packet_id, 4), ("p" * 22, 1), (packet.packet_id, 99)
    invented = [ShareRef(*place) for place in places]

    assert system.settle([invented[0], claim.share.ref, *invented[1:]]) == set(invented)

    assert system.balance_fen("ann") == claim.share.amount_fen


def test_an_amount_that_differs_from_the_terms_is_not_paid() -> None:
    system = InMemorySystem()
    packet = system.send()
    share = system.grab(packet, "ann").share
    row = system.row("shares", keys.share(packet.packet_id, 1))
    row["amount_fen"] = {"N": str(share.amount_fen + 1)}

    assert system.settle() == {share.ref}

    assert system.balance_fen("ann") == 0
    assert [name for name, _ in system.logger.errors] == ["claim_refused"]
    assert {difference.rule for difference in system.differences()} == {"I3", "I4", "I5"}


def test_after_the_last_share_is_paid_the_packet_is_closed_without_a_sweep(
    system: InMemorySystem,
) -> None:
    packet = system.send(count=3)
    claims = [system.grab(packet, user) for user in ("ann", "bob", "cat")]

    system.settle()

    row = system.stored(packet)
    best = max((claim.share for claim in claims), key=lambda share: share.amount_fen)
    assert (row.status, row.is_emptied) == (PacketStatus.CLOSED, True)
    assert row.end
    assert row.end.last_claimed_at_ms == claims[-1].share.decided_at_ms
    assert (row.end.luckiest, row.end.claimed_fen) == (claimer_of(best), 1000)
    system.pass_time(61_000)
    assert system.work.list_due(system.clock.now_ms(), 100) == []
    assert system.work.list_unsettled(system.clock.now_ms(), 100) == []
    assert system.repair() == (0, 0)


def test_a_last_claim_that_settles_first_is_retried_until_the_others_are_paid(
    system: InMemorySystem,
) -> None:
    packet = system.send(count=3)
    *others, last = [system.grab(packet, user).share.ref for user in ("ann", "bob", "cat")]
    system.queue.take_all()

    system.settle([last])

    assert system.stored(packet).status is PacketStatus.OPEN
    assert (system.queue.take_all(), system.queue.delays_s[-1]) == ([last], 2)
    system.settle(others)
    system.settle([last])
    assert system.stored(packet).status is PacketStatus.CLOSED


def test_a_last_claim_waits_in_the_work_list_for_a_claim_that_settles_much_later(
    system: InMemorySystem,
) -> None:
    packet = system.send(count=2, life_ms=3_600_000)
    late, last = system.grab_all(packet, "ann", "bob")
    system.queue.take_all()
    system.settle([last.ref])
    system.pass_time(ASKED_AGAIN_MS)
    system.settle()
    assert system.queue.refs == []

    system.settle([late.ref])
    system.pass_time(60_001)
    system.repair()
    system.settle()

    assert system.stored(packet).status is PacketStatus.CLOSED


def test_a_packet_whose_end_was_interrupted_is_closed_by_the_sweep(system: InMemorySystem) -> None:
    packet = system.send(count=2, life_ms=3_600_000)
    system.grab_all(packet, "ann", "bob")
    refs = system.queue.take_all()

    def dies(operations: list[dict[str, object]]) -> None:
        if any(
            packet.packet_id in str(operation) and "closed_at_ms" in str(operation)
            for operation in operations
        ):
            raise Unavailable("the worker died")

    system.before_each_transaction(dies)
    assert system.settle(refs) == set()
    assert system.stored(packet).status is PacketStatus.OPEN
    system.stand_on(system.dynamo)

    system.pass_time(60_001)
    system.repair()
    system.settle()

    assert system.stored(packet).status is PacketStatus.CLOSED
    assert system.differences() == []


def test_shards_that_are_emptied_together_end_concurrently(system: InMemorySystem) -> None:
    packet = system.send_in_shards(3, count=6)
    system.crowd(packet, 6)
    lanes: list[int] = []

    def counted(do: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        lanes.append(len(items))
        return in_threads(do, items)

    system.in_parallel = counted

    assert system.settle() == set()

    assert lanes == [1, 3, 6]  # Parallel calls: one transaction, three ends, six users.
    assert system.stored(packet).status is PacketStatus.CLOSED
    # The shards that ended before the last one neither closed anything nor tried to.
    assert system.logger.errors == []


def test_a_claim_that_is_written_after_the_close_is_not_paid() -> None:
    system = InMemorySystem()
    packet = system.send(count=2)
    system.end()
    # Assume that an attacker may update SharesTable.
    row = system.row("shares", keys.share(packet.packet_id, 1))
    row |= {"fate": {"S": "claimed"}, "user_id": {"S": "thief"}}

    assert system.settle([ShareRef(packet.packet_id, 1)]) == {ShareRef(packet.packet_id, 1)}

    # The use case refuses the claim before the ledger evaluates its own conditions.
    assert [name for name, _ in system.logger.errors] == ["claim_refused"]
    assert system.balance_fen("thief") == 0
    assert system.balance_fen("sender") == 1000


def test_a_share_whose_settled_mark_was_removed_is_not_paid_again() -> None:
    system = InMemorySystem()
    packet = system.send(count=2)
    paid = system.grab(packet, "ann").share
    system.settle()
    # Even if an attacker could remove settled_at_ms, the receipt would remain.
    row = system.row("shares", keys.share(packet.packet_id, paid.share_no))
    row["user_id"] = {"S": "thief"}
    del row["settled_at_ms"]

    assert system.settle([paid.ref]) == {paid.ref}

    assert system.balance_fen("thief") == 0
    told = audit_packet(
        packet.packet_id, packets=system.packets, ledger=system.ledger, clock=system.clock
    )
    assert {"I1", "I2", "I4"} & {difference.rule for difference in told.differences}


@pytest.mark.parametrize(
    "forged",
    [{"user_id": None}, {"fate": None}, {"decided_at_ms": {"N": "9" * 17}}],
    ids=lambda forged: next(iter(forged)),
)
def test_a_claim_with_malformed_attributes_fails_alone(forged: dict[str, Any]) -> None:
    system = InMemorySystem()
    packet = system.send(count=3)
    refs = [system.grab(packet, user).share.ref for user in ("ann", "bob")]
    # Assume that an attacker may update SharesTable.
    row = system.row("shares", keys.share(packet.packet_id, 1))
    before = dict(row)
    row |= forged
    for name in [name for name, value in forged.items() if value is None]:
        del row[name]

    assert system.settle() == {refs[0]}

    row |= before
    assert system.balance_fen("ann") == 0
    assert system.balance_fen("bob") > 0
    assert {name for name, _ in system.logger.errors} == {"claim_refused"}


@pytest.mark.parametrize("claims_per_read", [1, 100])
def test_an_unreadable_packet_does_not_block_claims_of_another_packet(
    system: InMemorySystem, monkeypatch: pytest.MonkeyPatch, claims_per_read: int
) -> None:
    monkeypatch.setattr(settling, "CLAIMS_PER_READ", claims_per_read)
    broken, sound = system.send(), system.send()
    claims = [system.grab(packet, "ann").share for packet in (sound, broken)]
    row = system.row("packets", keys.packet(broken.packet_id))
    terms = row.pop("terms")

    assert system.settle([claims[1].ref, claims[0].ref]) == {claims[1].ref}

    row["terms"] = terms
    assert system.balance_fen("ann") == claims[0].amount_fen
    assert [name for name, _ in system.logger.errors] == ["claim_refused"]


def test_a_partly_unreadable_packet_does_not_redeliver_paid_claims() -> None:
    system = InMemorySystem()
    packets = [system.send(count=1), system.send(count=1)]
    refs = [system.grab(packet, "ann").share.ref for packet in packets]
    # Assume that an attacker may update SharesTable.
    pk = keys.share(packets[0].packet_id, 1)["pk"]
    system.dynamo.tables["shares"][pk, "share#x"] = {"pk": {"S": pk}, "sk": {"S": "share#x"}}

    assert system.settle(refs) == set()

    assert system.stored(packets[0]).status is PacketStatus.OPEN
    assert system.stored(packets[1]).status is PacketStatus.CLOSED
    assert [name for name, _ in system.logger.errors] == ["packet_not_closed"]


def test_a_concurrently_paid_claim_does_not_delay_its_batch(system: InMemorySystem) -> None:
    packet = system.send(count=3)
    shares = system.grab_all(packet, "ann", "bob", "cat")
    other = copy(system)

    system.before_first_transaction(lambda _: other.settle([shares[1].ref]))

    assert system.settle() == set()

    balances = [system.balance_fen(user) for user in ("ann", "bob", "cat")]
    assert balances == [share.amount_fen for share in shares]


def test_a_claim_that_is_paid_and_closed_between_two_reads_has_not_failed(
    system: InMemorySystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    packet = system.send(count=1)
    system.grab(packet, "ann")
    (ref,) = system.queue.take_all()
    read = system.dynamo.batch_get_item

    def pay_after_the_first_read(**arguments: Any) -> Any:
        answer = read(**arguments)
        monkeypatch.undo()
        system.settle([ref])
        return answer

    monkeypatch.setattr(system.dynamo, "batch_get_item", pay_after_the_first_read)

    assert system.settle([ref]) == set()

    assert system.stored(packet).status is PacketStatus.CLOSED
    assert system.logger.errors == []


def test_a_packet_that_a_sweep_is_closing_is_left_to_the_sweep_and_the_cache_is_updated(
    system: InMemorySystem,
) -> None:
    packet = system.send(count=2)
    told = system.grab(packet, "ann")
    before = system.memory.snapshot()
    system.grab(packet, "bob")

    assert system.end().closed_count == 0
    # The cache has an emptied packet without ann's claim.
    system.memory.fail_over(before)
    claim_cache = system.memory.caches[packet.packet_id]
    claim_cache["users"].clear()
    claim_cache["letter"] = "E"

    system.settle()

    assert system.stored(packet).status is PacketStatus.CLOSING
    assert system.expire().closed_count == 1
    assert system.grab(packet, "ann").share.share_no == told.share.share_no
    system.pass_time(60_000)
    system.repair()
    system.settle()
    assert system.work.list_unsettled(system.clock.now_ms() + 10**9, 800) == []


def test_a_claim_of_an_uninvited_user_is_not_paid_and_is_reported() -> None:
    system = InMemorySystem()
    packet = system.send(count=2, rules=Rules(recipients=frozenset({"ann"})), life_ms=10 * LIFE_MS)
    thief = replace(system.grab(packet, "ann").share, share_no=2, claimer=a_person("thief"))
    thief = replace(thief, amount_fen=share_amount_fen(system.stored(packet).terms, 2))
    assert system.recorder.record_claim(thief, None) is RecordStatus.RECORDED

    assert system.settle([thief.ref]) == {thief.ref}

    assert system.balance_fen("thief") == 0
    assert [name for name, _ in system.logger.errors] == ["claim_refused"]
    (audited,) = system.process().audit_packet(packet.packet_id).differences
    assert audited in system.reconcile().differences
    assert (audited.rule, audited.what, audited.actual) == ("I3", "taker of share 2", "thief")


def test_a_claim_outside_the_chat_of_a_packet_is_not_paid_and_is_reported() -> None:
    """Only ChatFunction may write a claim's chat, and a thief has another role."""
    system = InMemorySystem()
    packet = system.send(count=2, rules=Rules(chat_id="telegram:-1"), life_ms=10 * LIFE_MS)
    claim = system.grab_or_enter(packet, "ann", chat_id="telegram:-1")
    assert isinstance(claim, Claim)
    member = claim.share
    thief = replace(member, share_no=3 - member.share_no, claimer=a_person("thief"))
    amount_fen = share_amount_fen(system.stored(packet).terms, thief.share_no)
    system.recorder.record_claim(replace(thief, amount_fen=amount_fen), None)

    assert system.settle([member.ref, thief.ref]) == {thief.ref}

    assert system.balance_fen("ann") == member.amount_fen
    assert system.balance_fen("thief") == 0
    (audited,) = system.process().audit_packet(packet.packet_id).differences
    night = system.reconcile()
    assert audited in night.differences
    assert (audited.rule, audited.actual) == ("I3", "thief")
    assert "check_shares" in {check.name for check in night.checks if check.differences}


def test_packets_of_one_sender_that_end_together_are_retried_without_an_error(
    system: InMemorySystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The closes conflict on the sender's count of open packets, which is not a failure."""
    packet = system.send(count=1)
    ref = system.grab(packet, "ann").share.ref
    with monkeypatch.context() as patch:
        patch.setattr(system.ledger, "close", Mock(side_effect=ConflictPersists({1})))
        assert system.settle() == set()

    assert (system.queue.take_all(), system.queue.delays_s[-1]) == ([ref], 2)
    assert system.logger.errors == []
    system.settle([ref])
    assert system.stored(packet).status is PacketStatus.CLOSED


@pytest.mark.parametrize(
    ("error", "waited_ms"), [(ConflictPersists({1}), ASKED_AGAIN_MS), (Unavailable("away"), 0)]
)
def test_a_close_that_keeps_failing_is_reported(
    system: InMemorySystem, monkeypatch: pytest.MonkeyPatch, error: Exception, waited_ms: int
) -> None:
    packet = system.send(count=1)
    ref = system.grab(packet, "ann").share.ref
    system.queue.take_all()
    system.pass_time(waited_ms)
    monkeypatch.setattr(system.ledger, "close", Mock(side_effect=error))

    assert system.settle([ref]) == set()

    assert [name for name, _ in system.logger.errors] == ["packet_not_closed"]
    assert system.queue.refs == []


def test_a_claim_that_keeps_conflicting_fails_alone(
    system: InMemorySystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    packet = system.send(count=3)
    shares = system.grab_all(packet, "ann", "bob", "cat")
    settle = system.ledger.settle

    def settle_others(_: Any, claims: Sequence[Any], now_ms: int) -> Any:
        refs = [share.ref for share, _ in claims]
        if len(refs) > 1 and shares[1].ref in refs:
            return {shares[1].ref, shares[2].ref}
        return {shares[1].ref} if shares[1].ref in refs else settle(claims, now_ms)

    monkeypatch.setattr(type(system.ledger), "settle", settle_others)

    assert system.settle() == {shares[1].ref}
    balances = [system.balance_fen(user) for user in ("ann", "bob", "cat")]
    assert balances == [shares[0].amount_fen, 0, shares[2].amount_fen]
