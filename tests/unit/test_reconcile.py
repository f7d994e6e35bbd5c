from __future__ import annotations

from redpacket.adapters import keys
from redpacket.domain.checks import Difference
from redpacket.domain.errors import Unavailable
from tests.fakes import FakeBoard
from tests.town import Town


def _busy_town() -> Town:
    town = Town()
    first, second = town.send(count=4), town.send(count=2)
    for packet in (first, second):
        for user in ("ann", "bob"):
            town.grab(packet, user)
    town.settle()
    return town


def _row(town: Town, table: str, key: dict[str, str]) -> dict[str, dict[str, str]]:
    return town.dynamo.tables[table][key["pk"], key["sk"]]


def _rules(found: list[Difference]) -> set[tuple[str, str]]:
    return {(difference.rule, difference.subject) for difference in found}


def test_a_town_in_order_has_no_differences() -> None:
    town = _busy_town()

    found = town.reconcile()

    assert found.differences == []
    assert found.is_complete
    assert (found.packet_count, found.account_count) == (2, 6)
    assert found.entry_count == 2 * (2 + 2 + 4)
    assert town.journal.events == []


def test_a_planted_fen_in_a_balance_is_found() -> None:
    town = _busy_town()
    _row(town, "accounts", keys.account("user:ann"))["balance_fen"] = {"N": "1"}

    found = town.reconcile()

    assert _rules(found.differences) == {("I1", "user:ann")}
    assert town.journal.events == ["difference_found"]


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

    assert _rules(town.reconcile().differences) == {("I2", packet_id), ("I3", packet_id)}


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
            raise Unavailable(packet_id)

    town = _busy_town()
    town.send()
    town.board = Away(town.clock)
    _row(town, "accounts", keys.account("user:ann"))["balance_fen"] = {"N": "1"}

    found = town.reconcile()

    assert _rules(found.differences) == {("I1", "user:ann")}
    assert not found.is_complete
    assert town.journal.events == ["difference_found"]


def test_money_of_a_packet_that_does_not_exist_is_found() -> None:
    town = _busy_town()
    packet = town.send()
    key = keys.packet(packet.packet_id)
    del town.dynamo.tables["packets"][key["pk"], key["sk"]]

    assert _rules(town.reconcile().differences) == {("I2", f"escrow:{packet.packet_id}")}
