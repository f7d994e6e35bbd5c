from __future__ import annotations

import pytest

from redpacket.adapters import keys
from redpacket.adapters.dynamo import Dynamo
from redpacket.adapters.dynamo_packets import DynamoPackets
from redpacket.domain.claim import Claim, ShareFate, ShareRef
from redpacket.domain.errors import PacketEmptied
from redpacket.domain.packet import Kind
from redpacket.domain.split import Split
from redpacket.flows.settle_claims import settle_claims
from tests.town import Town


def test_a_claim_is_credited_once_however_often_it_is_delivered(town: Town) -> None:
    packet = town.send()
    claim = town.grab(packet, "ann")

    assert town.settle([claim.share.ref] * 3) == set()
    assert town.settle([claim.share.ref]) == set()

    assert town.balance_fen("ann") == claim.share.amount_fen
    assert town.grab(packet, "ann").share.settled_at_ms


def test_a_batch_is_one_transaction_up_to_twenty_claims(town: Town) -> None:
    packet = town.send(count=45)
    for number in range(45):
        town.grab(packet, f"user-{number}")
    transactions = _count_transactions(town)

    assert town.settle() == set()

    assert transactions == [81, 81, 21]
    assert sum(town.balance_fen(f"user-{number}") for number in range(45)) == 1000


def test_a_message_that_names_no_claim_fails_alone(town: Town) -> None:
    packet = town.send()
    claim = town.grab(packet, "ann")
    invented = [
        ShareRef(packet.packet_id, 4),
        ShareRef("p" * 22, 1),
        ShareRef(packet.packet_id, 99),
    ]

    assert town.settle([invented[0], claim.share.ref, *invented[1:]]) == set(invented)

    assert town.balance_fen("ann") == claim.share.amount_fen


def test_a_refunded_share_is_never_settled(town: Town) -> None:
    packet = town.send()
    town.pass_time(61_000)
    town.expire()
    ref = ShareRef(packet.packet_id, 1)

    assert town.settle([ref]) == {ref}

    assert town.balance_fen("sender") == 1000


def test_an_amount_that_differs_from_the_terms_is_not_paid() -> None:
    town = Town()
    packet = town.send()
    share = town.grab(packet, "ann").share
    key = keys.share(packet.packet_id, 1)
    row = town.dynamo.tables["packets"][key["pk"], key["sk"]]
    row["amount_fen"] = {"N": str(share.amount_fen + 1)}

    assert town.settle() == {share.ref}

    assert town.balance_fen("ann") == 0
    assert [name for name, _ in town.journal.errors] == ["claim_refused"]
    assert {found.rule for found in town.differences()} == {"I3", "I4", "I5"}


def test_when_the_last_share_is_paid_the_luckiest_is_noted(town: Town) -> None:
    packet = town.send(count=3)
    claims = [town.grab(packet, user) for user in ("ann", "bob", "cat")]
    town.settle()

    noted = [
        town.packets.list_received(user, None)[0].is_luckiest for user in ("ann", "bob", "cat")
    ]

    best = max(claim.share.amount_fen for claim in claims)
    assert noted == [claim.share.amount_fen == best for claim in claims]
    row = town.packets.find_packet(packet.packet_id)
    assert row
    assert row.emptied_at_ms == claims[-1].share.decided_at_ms


def test_a_large_packet_is_noted_as_emptied_without_a_look_at_all_its_shares(town: Town) -> None:
    packet = town.send(count=3)
    claims = [town.grab(packet, user) for user in ("ann", "bob", "cat")]

    assert _settle_as_large(town, claims) == set()

    row = town.packets.find_packet(packet.packet_id)
    assert row
    assert row.emptied_at_ms == claims[-1].share.decided_at_ms


def test_a_large_packet_of_which_a_share_went_back_is_not_emptied(town: Town) -> None:
    packet = town.send(count=3)
    claim = town.grab(packet, "ann")
    town.pass_time(61_000)
    town.expire()

    assert _settle_as_large(town, [claim]) == set()

    row = town.packets.find_packet(packet.packet_id)
    assert row
    assert row.refunded_fen
    assert row.emptied_at_ms is None


def test_nobody_is_luckiest_among_equals(town: Town) -> None:
    packet = town.send(kind=Kind.EQUAL, split=Split.EQUAL, count=2)
    for user in ("ann", "bob"):
        town.grab(packet, user)
    town.settle()

    assert not town.packets.list_received("ann", None)[0].is_luckiest
    with pytest.raises(PacketEmptied):
        town.grab(packet, "cat")


def test_a_claim_that_is_paid_meanwhile_does_not_hold_up_its_batch(town: Town) -> None:
    packet = town.send(count=3)
    shares = [town.grab(packet, user).share for user in ("ann", "bob", "cat")]
    rival = Town.adapters(town.dynamo)

    def pay_bob_first(_operations: list[dict[str, object]]) -> None:
        settle_claims(
            [shares[1].ref],
            ledger=rival[1],
            packets=rival[0],
            clock=town.clock,
            journal=town.journal,
        )

    town.before_first_transaction(pay_bob_first)

    assert town.settle() == set()

    balances = [town.balance_fen(user) for user in ("ann", "bob", "cat")]
    assert balances == [share.amount_fen for share in shares]


def _count_transactions(town: Town) -> list[int]:
    sizes: list[int] = []
    town.before_each_transaction(lambda operations: sizes.append(len(operations)))
    return sizes


class _Unlisted(DynamoPackets):
    def list_shares(self, packet_id: str) -> list[ShareFate]:
        raise AssertionError(packet_id)


def _settle_as_large(town: Town, claims: list[Claim]) -> set[ShareRef]:
    return settle_claims(
        [claim.share.ref for claim in claims],
        ledger=town.ledger,
        packets=_Unlisted(Dynamo(lambda: town.dynamo), "packets"),
        clock=town.clock,
        journal=town.journal,
        looked_through_max=2,
    )
