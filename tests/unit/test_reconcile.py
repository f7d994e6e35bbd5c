from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from redpacket.adapters import keys
from redpacket.adapters.dynamo import Dynamo
from redpacket.adapters.dynamo_packets import DynamoPackets
from redpacket.domain.checks import Difference, PacketFacts
from redpacket.domain.claim import ShareFate, Taker
from redpacket.domain.errors import CacheAway, Unavailable
from redpacket.domain.packet import Packet, part_count
from redpacket.flows.audit_packet import audit_packet
from redpacket.flows.reconcile import Reconciliation, reconcile
from redpacket.ports import DeadLetters
from tests.builders import a_campaign
from tests.fakes import FakeBoard, FakeDeadLetters
from tests.town import Town


def _busy_town() -> Town:
    town = Town()
    first, second = town.send(count=4), town.send(count=2)
    for packet in (first, second):
        for user in ("ann", "bob"):
            town.grab(packet, user)
    town.settle()
    return town


def _key(key: dict[str, str]) -> tuple[str, str]:
    return key["pk"], key["sk"]


def _reconcile(town: Town, dead_letters: DeadLetters, time_ms: int = 900_000) -> Reconciliation:
    return reconcile(
        packets=town.packets,
        ledger=town.ledger,
        board=town.board,
        dead_letters=dead_letters,
        clock=town.clock,
        journal=town.journal,
        stop_at_ms=town.clock.now_ms() + time_ms,
    )


def _audit(town: Town, packet_id: str) -> list[Difference]:
    return audit_packet(packet_id, packets=town.packets, ledger=town.ledger, clock=town.clock)


def _row(town: Town, table: str, key: dict[str, str]) -> dict[str, dict[str, str]]:
    return town.dynamo.tables[table][key["pk"], key["sk"]]


def _rules(found: list[Difference]) -> set[tuple[str, str]]:
    return {(difference.rule, difference.subject) for difference in found}


def _town_with_a_cut_packet() -> tuple[Town, Packet]:
    town = Town()
    town.part_share_count = 3
    campaign = a_campaign()
    town.campaigns.create(campaign)
    packet = town.send(campaign=campaign, count=9)
    assert part_count(packet.packet_id) == 3
    for number in range(7):
        town.grab(packet, f"user-{number}")
    town.settle()
    return town, packet


def test_a_packet_in_parts_in_order_has_no_differences() -> None:
    town, _ = _town_with_a_cut_packet()

    result = town.reconcile()

    assert (result.differences, result.is_complete, result.packet_count) == ([], True, 1)


def test_a_lost_share_of_a_packet_in_parts_is_found() -> None:
    town, packet = _town_with_a_cut_packet()
    share = town.packets.list_shares(packet.packet_id)[4]
    town.dynamo.tables["packets"].pop(_key(keys.share(packet.packet_id, share.share_no)))

    found = {difference.rule for difference in town.reconcile().differences}

    assert found == {"I2", "I4"}


def test_parts_of_a_packet_that_does_not_exist_are_found() -> None:
    town, packet = _town_with_a_cut_packet()
    town.dynamo.tables["packets"].pop(_key(keys.packet(packet.packet_id)))

    found = [difference.rule for difference in town.reconcile().differences]

    assert found.count("I3") == 7
    assert set(found) == {"I2", "I3"}


def test_a_cache_that_lost_a_tail_of_one_part_is_told_of() -> None:
    town, packet = _town_with_a_cut_packet()
    share = next(s for s in town.packets.list_shares(packet.packet_id) if s.taker)
    assert share.taker
    town.board.disown(packet.packet_id, share.taker.user_id, share.share_no)

    (difference,) = town.reconcile().differences

    assert (difference.rule, difference.expected, difference.actual) == ("cache", share.share_no, 0)


def test_a_town_in_order_has_no_differences() -> None:
    town = _busy_town()

    found = town.reconcile()

    assert found.differences == []
    assert found.is_complete
    assert (found.packet_count, found.account_count) == (2, 6)
    assert found.entry_count == 2 * (2 + 2 + 4)
    assert town.journal.events == ["reconcile_complete"]


def test_a_planted_fen_in_a_balance_is_found() -> None:
    town = _busy_town()
    _row(town, "accounts", keys.account("user:ann"))["balance_fen"] = {"N": "1"}

    found = town.reconcile()

    assert _rules(found.differences) == {("I1", "user:ann")}
    assert town.journal.events == ["difference_found", "reconcile_complete"]


def test_a_transfer_with_one_side_is_found() -> None:
    town = _busy_town()
    accounts = town.dynamo.tables["accounts"]
    lost = next(key for key in accounts if key[0] == "user:bob" and key[1].startswith("entry#"))
    transfer_id = accounts[lost]["transfer_id"]["S"]
    del accounts[lost]

    assert _rules(town.reconcile().differences) == {("I1", "user:bob"), ("I1", transfer_id)}


def test_a_changed_share_is_found_in_its_packet() -> None:
    town = _busy_town()
    packet_id = town.world().packets[0].packet.packet_id
    _row(town, "packets", keys.share(packet_id, 1))["amount_fen"] = {"N": "7777"}

    assert _rules(town.reconcile().differences) == {
        ("I2", packet_id),
        ("I3", packet_id),
        ("I4", packet_id),
    }


def test_a_claim_that_is_not_settled_for_long_is_found() -> None:
    town = _busy_town()
    packet = town.send(life_ms=3_600_000)
    town.grab(packet, "ann")
    town.pass_time(60_000)
    assert town.reconcile().differences == []

    town.pass_time(15 * 60_000)

    late = [found for found in town.reconcile().differences if found.subject == packet.packet_id]
    assert [found.rule for found in late] == ["I8"]


def test_a_cache_that_lost_its_tail_is_found() -> None:
    town = _busy_town()
    packet = town.send()
    replica = town.memory.snapshot()
    town.grab(packet, "ann")
    town.memory.fail_over(replica)
    town.memory.grab(packet.packet_id, "bob")

    assert _rules(town.reconcile().differences) == {("cache", packet.packet_id)}


def test_a_cache_that_holds_nothing_is_no_difference() -> None:
    town = _busy_town()
    town.memory.boards.clear()

    assert town.reconcile().differences == []


def test_dead_letters_are_found() -> None:
    assert _rules(_busy_town().reconcile(dead_count=3).differences) == {("queue", "payout DLQ")}


def test_a_cache_that_is_away_does_not_hide_what_the_ledger_says() -> None:
    class Away(FakeBoard):
        def holders(self, packet_id: str) -> dict[str, int]:
            raise CacheAway(packet_id)

    town = _busy_town()
    town.send()
    town.board = Away(town.clock)
    _row(town, "accounts", keys.account("user:ann"))["balance_fen"] = {"N": "1"}

    found = town.reconcile()

    assert _rules(found.differences) == {("I1", "user:ann")}
    assert not found.is_complete
    assert town.journal.events == ["difference_found", "reconcile_incomplete"]


def test_money_of_a_packet_that_does_not_exist_is_found() -> None:
    town = _busy_town()
    packet = town.send()
    key = keys.packet(packet.packet_id)
    del town.dynamo.tables["packets"][key["pk"], key["sk"]]

    assert _rules(town.reconcile().differences) == {("I2", f"escrow:{packet.packet_id}")}


def test_a_share_without_its_packet_is_found_and_hides_nothing_else() -> None:
    town = _busy_town()
    first, second = (facts.packet.packet_id for facts in town.world().packets)
    del town.dynamo.tables["packets"][_key(keys.packet(first))]
    _row(town, "packets", keys.share(second, 1))["amount_fen"] = {"N": "7777"}

    found = town.reconcile()

    strays = [one for one in found.differences if one.subject == first]
    assert [one.rule for one in strays] == ["I3", "I3"]
    assert ("I3", second) in _rules(found.differences)
    assert found.is_complete
    assert ("I3", first) in _rules(town.differences())


def test_a_claim_without_its_takers_row_is_found() -> None:
    town = _busy_town()
    packet_id = town.world().packets[0].packet.packet_id
    del town.dynamo.tables["packets"][_key(keys.taker(packet_id, "ann"))]

    found = town.reconcile()

    assert _rules(found.differences) == {("I4", packet_id)}
    assert "ann" in found.differences[0].what
    assert _rules(_audit(town, packet_id)) == {("I4", packet_id)}
    assert _rules(town.differences()) == {("I4", packet_id)}


def test_a_takers_row_without_its_claim_is_found() -> None:
    town = _busy_town()
    first, second = (facts.packet.packet_id for facts in town.world().packets)
    stray = dict(_row(town, "packets", keys.taker(first, "ann")))
    town.dynamo.tables["packets"]["user#eve", f"claim#{first}"] = {
        **stray,
        "pk": {"S": "user#eve"},
    }
    town.dynamo.tables["packets"]["user#eve", "claim#" + "x" * 22] = {
        **stray,
        "pk": {"S": "user#eve"},
        "sk": {"S": "claim#" + "x" * 22},
        "packet_id": {"S": "x" * 22},
    }

    found = town.reconcile()

    assert _rules(found.differences) == {("I4", first), ("I4", "x" * 22)}
    assert second not in {one.subject for one in found.differences}


@pytest.mark.parametrize("field", ["share_no", "amount_fen"])
def test_a_takers_row_that_names_another_share_or_amount_is_found(field: str) -> None:
    town = _busy_town()
    packet_id = town.world().packets[0].packet.packet_id
    _row(town, "packets", keys.taker(packet_id, "bob"))[field] = {"N": "4000"}

    (found,) = town.reconcile().differences

    assert (found.rule, found.subject) == ("I4", packet_id)
    assert "bob" in found.what


def test_a_claim_that_comes_between_the_pages_of_the_scan_is_no_difference() -> None:
    town = _busy_town()
    packet = town.send(count=4)

    class Moving(DynamoPackets):
        """Lets somebody claim once the packets were scanned, and before the takers are."""

        def scan_packets(
            self, escrows_fen: Mapping[str, int]
        ) -> Iterator[PacketFacts | Taker | ShareFate]:
            found = list(super().scan_packets(escrows_fen))
            yield from (one for one in found if not isinstance(one, Taker))
            town.grab(packet, "eve")
            yield from (one for one in super().scan_packets(escrows_fen) if isinstance(one, Taker))

    town.packets = Moving(Dynamo(lambda: town.dynamo), "packets")

    found = town.reconcile()

    assert found.differences == []
    assert found.is_complete


def test_a_queue_that_may_not_be_asked_hides_nothing_of_the_ledger() -> None:
    class Forbidden(FakeDeadLetters):
        def count(self) -> int:
            raise PermissionError("AccessDenied")

    town = _busy_town()
    _row(town, "accounts", keys.account("user:ann"))["balance_fen"] = {"N": "1"}

    found = _reconcile(town, Forbidden(0))

    assert _rules(found.differences) == {("I1", "user:ann")}
    assert town.journal.events == ["difference_found", "reconcile_incomplete"]


def test_what_was_found_is_told_although_the_scan_fails_later() -> None:
    class Torn(DynamoPackets):
        def scan_packets(
            self, escrows_fen: Mapping[str, int]
        ) -> Iterator[PacketFacts | Taker | ShareFate]:
            yield from super().scan_packets(escrows_fen)
            raise Unavailable("throttled")

    town = _busy_town()
    _row(town, "accounts", keys.account("user:ann"))["balance_fen"] = {"N": "1"}
    town.packets = Torn(Dynamo(lambda: town.dynamo), "packets")

    with pytest.raises(Unavailable):
        town.reconcile()

    assert town.journal.events == ["difference_found"]


def test_a_reconciliation_that_runs_out_of_time_says_so() -> None:
    town = _busy_town()

    found = _reconcile(town, FakeDeadLetters(0), time_ms=0)

    assert not found.is_complete
    assert found.differences == []
    assert town.journal.events == ["reconcile_incomplete"]


def test_one_slot_that_nobody_serves_does_not_hide_the_other_packets() -> None:
    asked: list[str] = []

    class Gap(FakeBoard):
        def holders(self, packet_id: str) -> dict[str, int]:
            asked.append(packet_id)
            raise Unavailable(packet_id)

    town = _busy_town()
    town.board = Gap(town.clock)

    found = town.reconcile()

    assert len(asked) == 2
    assert not found.is_complete
