from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest

from local.seed_keys import PUBLISHED_SEEDS
from redpacket.adapters.dynamo import keys
from redpacket.adapters.dynamo.client import Dynamo, to_wire
from redpacket.adapters.dynamo.items import share_row
from redpacket.adapters.dynamo.packets import DynamoPackets
from redpacket.adapters.dynamo.tables import DynamoTables
from redpacket.domain.checks.facts import Difference
from redpacket.domain.claim import ShareFate
from redpacket.domain.errors import CacheAway, Unavailable
from redpacket.domain.packet import Packet, part_count
from redpacket.domain.scanned import Scanned
from redpacket.domain.split import Terms
from redpacket.flows.reconciliation.audit_packet import audit_packet
from redpacket.flows.reconciliation.reconcile import MOVING_MS, Reconciliation
from redpacket.ports.packets import DeadLetters
from redpacket.ports.reconciliation import Table
from testing.builders import a_campaign, a_refund
from testing.fakes import FakeClaimCache, FakeDeadLetters
from testing.in_memory_system import InMemorySystem


def _busy_town() -> InMemorySystem:
    system = InMemorySystem()
    first, second = system.send(count=4, life_ms=LIFE_MS), system.send(count=2, life_ms=LIFE_MS)
    for packet in (first, second):
        for user in ("ann", "bob"):
            system.grab(packet, user)
    system.settle()
    # What was posted a moment ago is left to the next night.
    system.pass_time(MOVING_MS + 1)
    return system


LIFE_MS = 3_600_000

ALL = ("I1", "all accounts")
"""Wallets and packets do not add up to the deposits."""


def _key(key: dict[str, str]) -> tuple[str, str]:
    return key["pk"], key["sk"]


def _reconcile(
    system: InMemorySystem, dead_letters: DeadLetters, time_ms: int = 900_000
) -> Reconciliation:
    return system.reconcile_with(dead_letters, stop_in_ms=time_ms)


def _audit(system: InMemorySystem, packet_id: str) -> list[Difference]:
    return audit_packet(packet_id, packets=system.packets, ledger=system.ledger, clock=system.clock)


def _row(system: InMemorySystem, table: str, key: dict[str, str]) -> dict[str, dict[str, str]]:
    return system.dynamo.tables[table][key["pk"], key["sk"]]


def _rules(found: list[Difference]) -> set[tuple[str, str]]:
    return {(difference.rule, difference.subject) for difference in found}


def _town_with_a_cut_packet() -> tuple[InMemorySystem, Packet]:
    system = InMemorySystem()
    system.part_share_count = 3
    campaign = a_campaign()
    system.campaigns.create(campaign)
    packet = system.send(campaign=campaign, count=9, life_ms=LIFE_MS)
    assert part_count(packet.packet_id) == 3
    for number in range(7):
        system.grab(packet, f"user-{number}")
    system.settle()
    system.pass_time(MOVING_MS + 1)
    return system, packet


def test_a_packet_in_parts_in_order_has_no_differences() -> None:
    system, _ = _town_with_a_cut_packet()

    result = system.reconcile()

    assert (result.differences, result.is_complete, result.packet_count) == ([], True, 1)


def test_a_lost_share_of_a_packet_in_parts_is_found() -> None:
    system, packet = _town_with_a_cut_packet()
    share = system.packets.list_shares(packet.packet_id)[4]
    system.dynamo.tables["shares"].pop(_key(keys.share(packet.packet_id, share.share_no)))

    found = {difference.rule for difference in system.reconcile().differences}

    # Its claim's entry, receipt and taker's row have no fate.
    assert found == {"I1", "I2", "I4"}


def test_parts_of_a_packet_that_does_not_exist_are_found() -> None:
    system, packet = _town_with_a_cut_packet()
    system.dynamo.tables["packets"].pop(_key(keys.packet(packet.packet_id)))

    found = [difference.rule for difference in system.reconcile().differences]

    assert found.count("I3") == 7
    # Each claim's entry and the sender's, what the budget paid, and the sum of all accounts.
    assert found.count("I1") == 8 + 1 + 1
    # Each receipt is reported; and the claims no longer show that they were of a campaign.
    assert (found.count("I2"), found.count("I9")) == (7, 7)
    assert set(found) == {"I1", "I2", "I3", "I9"}


def test_a_cache_that_lost_a_tail_of_one_part_is_told_of() -> None:
    system, packet = _town_with_a_cut_packet()
    share = next(s for s in system.packets.list_shares(packet.packet_id) if s.taker)
    assert share.taker
    system.claim_cache.revoke(packet.packet_id, share.taker.user_id, share.share_no)

    (difference,) = system.reconcile().differences

    assert (difference.rule, difference.expected, difference.actual) == ("cache", share.share_no, 0)


def test_a_town_in_order_has_no_differences() -> None:
    system = _busy_town()

    found = system.reconcile()

    assert found.differences == []
    assert found.is_complete
    assert (found.packet_count, found.account_count) == (2, 4)
    # Two sides of each deposit, the sender's of each send, the takers' of each claim.
    assert found.entry_count == 2 * (2 + 1 + 2)
    assert system.journal.events == ["reconcile_advanced", "reconcile_complete"]


def test_a_planted_fen_in_a_balance_is_found() -> None:
    system = _busy_town()
    _row(system, "accounts", keys.account("user:ann"))["balance_fen"] = {"N": "1"}

    found = system.reconcile()

    assert _rules(found.differences) == {("I1", "user:ann")}
    assert system.journal.events == ["difference_found", "reconcile_advanced", "reconcile_complete"]


def test_an_entry_that_is_lost_is_found() -> None:
    system = _busy_town()
    accounts = system.dynamo.tables["accounts"]
    lost = next(key for key in accounts if key[0] == "user:bob" and key[1].startswith("claim#"))
    packet_id = accounts[lost]["counterparty"]["S"].removeprefix("packet:")
    del accounts[lost]

    assert _rules(system.reconcile().differences) == {("I1", "user:bob"), ("I1", packet_id), ALL}


def test_a_deposit_with_one_side_is_found() -> None:
    system = _busy_town()
    accounts = system.dynamo.tables["accounts"]
    lost = next(key for key in accounts if key[0] == "deposits" and key[1].startswith("entry#"))
    transfer_id = accounts[lost]["transfer_id"]["S"]
    del accounts[lost]

    assert _rules(system.reconcile().differences) == {("I1", "deposits"), ("I1", transfer_id), ALL}


def test_an_entry_that_no_claim_asks_for_is_found() -> None:
    system = _busy_town()
    accounts = system.dynamo.tables["accounts"]
    packet = system.ledger_state().packets[0].packet
    key = keys.claim_entry("user:ann", system.clock.now_ms() - MOVING_MS - 5, packet.packet_id, 4)
    accounts[_key(key)] = {
        **next(row for (_, sk), row in accounts.items() if sk.startswith("claim#")),
        "pk": {"S": "user:ann"},
        "sk": {"S": key["sk"]},
        "transfer_id": {"S": f"settle:{packet.packet_id}:4"},
        "counterparty": {"S": f"packet:{packet.packet_id}"},
    }

    found = _rules(system.reconcile().differences)

    assert found == {("I1", "user:ann"), ("I1", packet.packet_id), ALL}


def test_a_forged_settlement_that_moved_no_money_is_found() -> None:
    system = _busy_town()
    packet_id = system.ledger_state().packets[0].packet.packet_id
    forged_at_ms = {"N": str(system.clock.now_ms() - MOVING_MS - 5)}
    share = next(s for s in system.packets.list_shares(packet_id) if s.taker)
    _row(system, "shares", keys.share(packet_id, share.share_no))["settled_at_ms"] = forged_at_ms

    found = _rules(system.reconcile().differences)

    # Neither the entry nor the receipt is of that time.
    assert found == {("I1", packet_id), ("I2", packet_id)}
    assert _rules(_audit(system, packet_id)) == found


def test_a_packet_whose_key_of_seeds_is_gone_is_told_and_hides_no_other() -> None:
    system = _busy_town()
    packet_id = system.ledger_state().packets[0].packet.packet_id
    row = _row(system, "packets", keys.packet(packet_id))
    terms = Terms.parse(row["terms"]["S"])
    unknown = replace(terms, seed=b"", sealed=bytes([99]) + terms.sealed[1:])
    row["terms"] = {"S": unknown.stored}

    result = system.reconcile()

    whats = ["terms that can be read", "fates that can be read"]
    assert result.is_complete
    assert [(one.subject, one.what) for one in result.differences] == [
        (packet_id, what) for what in whats
    ]


def test_a_number_that_is_not_an_integer_is_told_and_hides_no_other() -> None:
    system = _busy_town()
    packet_id = system.ledger_state().packets[0].packet.packet_id
    share = system.packets.list_shares(packet_id)[0]
    row = _row(system, "shares", keys.share(packet_id, share.share_no))
    row["amount_fen"] = {"N": f"{share.amount_fen}.5"}

    result = system.reconcile()

    assert result.is_complete
    name = " ".join(keys.share(packet_id, share.share_no).values())
    assert (name, "row that can be read") in [(one.subject, one.what) for one in result.differences]


def test_a_forged_refund_that_moved_no_money_is_found() -> None:
    system = _busy_town()
    packet_id = system.ledger_state().packets[0].packet.packet_id
    refund = a_refund(system.ledger_state().packets[0].packet, 4)
    system.dynamo.tables["shares"][_key(keys.share(packet_id, 4))] = to_wire(share_row(refund))

    found = _rules(system.reconcile().differences)

    assert found == {("I1", packet_id), ("I2", packet_id), ALL}


def test_a_packet_row_that_is_not_what_its_sender_paid_for_is_found() -> None:
    system = _busy_town()
    packet = system.ledger_state().packets[0].packet
    terms = replace(packet.terms, seed=b"a seed of a thief")
    _row(system, "packets", keys.packet(packet.packet_id))["terms"] = {"S": str(terms)}

    found = system.reconcile().differences

    assert ("I1", packet.packet_id) in _rules(found)


def test_a_seed_that_is_not_the_one_that_its_sender_was_promised_is_found() -> None:
    system = InMemorySystem()
    packet = system.send(life_ms=LIFE_MS)
    system.pass_time(MOVING_MS + 1)
    changed = replace(packet.terms, seed=b"another seed of.")
    # Nothing was claimed yet: only the sender's entry has the commitment.
    _row(system, "packets", keys.packet(packet.packet_id))["terms"] = {"S": str(changed)}

    found = _reconcile(system, FakeDeadLetters(0)).differences

    assert _rules(found) == {("I1", packet.packet_id)}


@pytest.mark.parametrize("change", ["lost", "forged"])
def test_a_receipt_that_is_not_that_of_its_share_is_found(change: str) -> None:
    system = _busy_town()
    (share, *_) = system.ledger_state().shares
    key = _key(keys.receipt(share.packet_id, share.share_no))
    if change == "lost":
        del system.dynamo.tables["accounts"][key]
    else:
        system.dynamo.tables["accounts"][key]["amount_fen"] = {"N": "1"}

    found = _reconcile(system, FakeDeadLetters(0)).differences

    assert _rules(found) == {("I2", share.packet_id)}


def test_money_that_moves_between_the_reads_of_an_audit_is_not_a_difference() -> None:
    system = InMemorySystem()
    packet = system.send(count=2)
    system.grab(packet, "ann")
    before = system.packets.list_shares(packet.packet_id)
    system.settle()
    reads = [before]

    class Behind(DynamoPackets):
        def scan_part_shares(
            self, packet_id: str, part: int, after_no: int = 0
        ) -> Iterator[ShareFate]:
            is_behind = bool(reads)
            read = super().scan_part_shares(packet_id, part, after_no)
            return iter(reads.pop()) if is_behind else read

    system.packets = Behind(
        Dynamo(lambda: system.dynamo), "packets", "shares", seeds=PUBLISHED_SEEDS
    )

    assert _audit(system, packet.packet_id) == []
    assert not reads


def test_a_changed_share_is_found_in_its_packet() -> None:
    system = _busy_town()
    packet_id = system.ledger_state().packets[0].packet.packet_id
    _row(system, "shares", keys.share(packet_id, 1))["amount_fen"] = {"N": "7777"}

    assert _rules(system.reconcile().differences) == {
        ("I1", packet_id),
        ("I2", packet_id),
        ("I3", packet_id),
        ("I4", packet_id),
        ALL,
    }


def test_a_claim_of_another_amount_is_found_before_it_is_paid() -> None:
    system = InMemorySystem()
    packet = system.send(life_ms=LIFE_MS)
    share = system.grab(packet, "ann").share
    # The fate and its taker's row agree, and it is not paid yet.
    for key in (keys.share(share.packet_id, share.share_no), keys.taker(share.packet_id, "ann")):
        _row(system, "shares", key)["amount_fen"] = {"N": "999"}

    found = system.reconcile().differences

    assert _rules(found) == {("I3", packet.packet_id)}


def test_sums_on_a_closed_packet_that_are_not_those_of_its_fates_are_found() -> None:
    system = _busy_town()
    packet_id = next(f.packet.packet_id for f in system.ledger_state().packets if f.packet.end)
    row = _row(system, "packets", keys.packet(packet_id))
    for name, change in (("claimed_fen", -1), ("refunded_fen", 1)):
        row[name] = {"N": str(int(row[name]["N"]) + change)}

    found = system.reconcile().differences

    assert _rules(found) == {("I2", packet_id)}


def test_a_claim_that_is_not_settled_for_long_is_found() -> None:
    system = _busy_town()
    packet = system.send(life_ms=LIFE_MS)
    system.grab(packet, "ann")
    system.pass_time(60_000)
    assert system.reconcile().differences == []

    system.pass_time(15 * 60_000)

    late = [found for found in system.reconcile().differences if found.subject == packet.packet_id]
    assert [found.rule for found in late] == ["I8"]


def test_a_cache_that_lost_its_tail_is_found() -> None:
    system = _busy_town()
    packet = system.send()
    replica = system.memory.snapshot()
    system.grab(packet, "ann")
    system.memory.fail_over(replica)
    system.memory.grab(packet.packet_id, "bob")

    assert _rules(system.reconcile().differences) == {("cache", packet.packet_id)}


def test_an_empty_cache_is_not_a_difference() -> None:
    system = _busy_town()
    system.memory.caches.clear()

    assert system.reconcile().differences == []


def test_dead_letters_are_found() -> None:
    assert _rules(_busy_town().reconcile(dead_count=3).differences) == {("queue", "payout DLQ")}


def test_a_cache_that_is_away_does_not_hide_what_the_ledger_says() -> None:
    class Away(FakeClaimCache):
        def held_numbers(self, packet_id: str, owned: Mapping[str, int]) -> dict[str, int] | None:
            raise CacheAway(packet_id)

    system = _busy_town()
    system.claim_cache = Away(system.clock)
    _row(system, "accounts", keys.account("user:ann"))["balance_fen"] = {"N": "1"}

    found = system.reconcile()

    assert _rules(found.differences) == {("I1", "user:ann")}
    assert not found.is_complete
    assert system.journal.events == ["difference_found", "reconcile_incomplete"]


def test_money_of_a_packet_that_does_not_exist_is_found() -> None:
    system = _busy_town()
    packet = system.send()
    system.pass_time(MOVING_MS + 1)
    key = keys.packet(packet.packet_id)
    del system.dynamo.tables["packets"][key["pk"], key["sk"]]

    # The sender's count says that it is open.
    counted = ("I9", f"user:{packet.sender.user_id}")
    assert _rules(system.reconcile().differences) == {("I1", packet.packet_id), ALL, counted}


def test_a_share_without_its_packet_is_found_and_hides_nothing_else() -> None:
    system = _busy_town()
    first, second = (facts.packet.packet_id for facts in system.ledger_state().packets)
    del system.dynamo.tables["packets"][_key(keys.packet(first))]
    _row(system, "shares", keys.share(second, 1))["amount_fen"] = {"N": "7777"}

    found = system.reconcile()

    strays = [one for one in found.differences if one.subject == first]
    assert [one.rule for one in strays].count("I3") == 2
    assert ("I3", second) in _rules(found.differences)
    assert found.is_complete
    assert ("I3", first) in _rules(system.differences())


def test_a_claim_without_its_takers_row_is_found() -> None:
    system = _busy_town()
    packet_id = system.ledger_state().packets[0].packet.packet_id
    del system.dynamo.tables["shares"][_key(keys.taker(packet_id, "ann"))]

    found = system.reconcile()

    assert _rules(found.differences) == {("I4", packet_id)}
    assert "ann" in found.differences[0].what
    assert _rules(_audit(system, packet_id)) == {("I4", packet_id)}
    assert _rules(system.differences()) == {("I4", packet_id)}


def test_a_takers_row_without_its_claim_is_found() -> None:
    system = _busy_town()
    first, second = (facts.packet.packet_id for facts in system.ledger_state().packets)
    stray = dict(_row(system, "shares", keys.taker(first, "ann")))
    system.dynamo.tables["shares"]["user#eve", f"claim#{first}"] = {
        **stray,
        "pk": {"S": "user#eve"},
    }
    system.dynamo.tables["shares"]["user#eve", "claim#" + "x" * 22] = {
        **stray,
        "pk": {"S": "user#eve"},
        "sk": {"S": "claim#" + "x" * 22},
        "packet_id": {"S": "x" * 22},
    }

    found = system.reconcile()

    assert _rules(found.differences) == {("I4", first), ("I4", "x" * 22)}
    assert second not in {one.subject for one in found.differences}


def test_a_takers_row_of_another_user_is_found() -> None:
    system = _busy_town()
    packet_id = system.ledger_state().packets[0].packet.packet_id
    shares, key = system.dynamo.tables["shares"], _key(keys.taker(packet_id, "bob"))
    shares["user#eve", key[1]] = {**shares.pop(key), "pk": {"S": "user#eve"}}

    found = system.reconcile().differences

    assert _rules(found) == {("I4", packet_id)}
    assert any("eve" in one.what for one in found)


def test_an_entry_in_anothers_book_is_found() -> None:
    """A thief's book has a claim that was another's, and both balances agree with it."""
    system = _busy_town()
    accounts = system.dynamo.tables["accounts"]
    key = next(key for key in accounts if key[0] == "user:bob" and key[1].startswith("claim#"))
    entry = {**accounts.pop(key), "pk": {"S": "user:eve"}}
    accounts["user:eve", key[1]] = entry
    fen, balance = int(entry["amount_fen"]["N"]), accounts["user:bob", "balance"]
    sums = {"received_fen_2026": fen, "received_count_2026": 1, "balance_fen": fen}
    for name, number in sums.items():
        balance[name] = {"N": str(int(balance[name]["N"]) - number)}
    thiefs = {name: {"N": str(number)} for name, number in sums.items()}
    accounts["user:eve", "balance"] = {**thiefs, "pk": {"S": "user:eve"}, "sk": {"S": "balance"}}

    found = system.reconcile().differences

    packet_id = entry["counterparty"]["S"].removeprefix("packet:")
    assert ("I1", packet_id) in _rules(found)
    assert ALL not in _rules(found)


@pytest.mark.parametrize("field", ["share_no", "amount_fen"])
def test_a_takers_row_that_names_another_share_or_amount_is_found(field: str) -> None:
    system = _busy_town()
    packet_id = system.ledger_state().packets[0].packet.packet_id
    _row(system, "shares", keys.taker(packet_id, "bob"))[field] = {"N": "4000"}

    found = system.reconcile().differences

    assert _rules(found) == {("I4", packet_id)}
    assert all("bob" in one.what for one in found)


def test_a_claim_between_two_pages_of_the_scan_is_not_a_difference() -> None:
    system = _busy_town()
    packet = system.send(count=4)

    class Moving(DynamoTables):
        """Lets somebody claim once the packets were scanned, and before the takers are."""

        def read(self, table: Table, place: str | None) -> tuple[list[Scanned], str | None]:
            if table is Table.SHARES:
                system.grab(packet, "eve")
            return super().read(table, place)

    system.scans = Moving(
        Dynamo(lambda: system.dynamo), {table: table.value for table in Table}, PUBLISHED_SEEDS
    )

    found = system.reconcile()

    assert found.differences == []
    assert found.is_complete


def test_a_queue_that_may_not_be_asked_hides_nothing_of_the_ledger() -> None:
    class Forbidden(FakeDeadLetters):
        def count(self) -> int:
            raise PermissionError("AccessDenied")

    system = _busy_town()
    _row(system, "accounts", keys.account("user:ann"))["balance_fen"] = {"N": "1"}

    found = _reconcile(system, Forbidden(0))

    assert _rules(found.differences) == {("I1", "user:ann")}
    assert system.journal.events == ["difference_found", "reconcile_incomplete"]


def test_what_was_found_is_told_although_the_scan_fails_later() -> None:
    class Torn(DynamoTables):
        def read(self, table: Table, place: str | None) -> tuple[list[Scanned], str | None]:
            if table is Table.PACKETS:
                raise Unavailable("throttled")
            return super().read(table, place)

    system = _busy_town()
    _row(system, "accounts", keys.account("user:ann"))["balance_fen"] = {"N": "1"}
    system.scans = Torn(
        Dynamo(lambda: system.dynamo), {table: table.value for table in Table}, PUBLISHED_SEEDS
    )

    with pytest.raises(Unavailable):
        system.reconcile()

    assert system.journal.events == ["difference_found"]


def test_a_reconciliation_that_runs_out_of_time_says_so() -> None:
    system = _busy_town()

    found = _reconcile(system, FakeDeadLetters(0), time_ms=0)

    assert not found.is_complete
    assert found.differences == []
    assert system.journal.events == ["reconcile_advanced"]


def test_one_unserved_slot_does_not_hide_the_other_packets() -> None:
    asked: list[str] = []

    class Gap(FakeClaimCache):
        def held_numbers(self, packet_id: str, owned: Mapping[str, int]) -> dict[str, int] | None:
            asked.append(packet_id)
            raise Unavailable(packet_id)

    system = _busy_town()
    system.grab(system.send(life_ms=LIFE_MS), "ann")
    system.claim_cache = Gap(system.clock)

    found = system.reconcile()

    # Of the three packets one is closed.
    assert len(asked) == 2
    assert not found.is_complete


def test_a_row_that_is_not_readable_is_told_and_hides_nothing_else() -> None:
    system = _busy_town()
    first, second = (facts.packet.packet_id for facts in system.ledger_state().packets)
    key = keys.share(first, 4)
    system.dynamo.tables["shares"][_key(key)] = {name: {"S": value} for name, value in key.items()}
    _row(system, "accounts", keys.account("user:ann"))["balance_fen"] = {"N": "1"}

    found = system.reconcile()

    assert _rules(found.differences) == {
        ("I1", "user:ann"),
        ("I3", f"{key['pk']} {key['sk']}"),
    }
    assert second not in {one.subject for one in found.differences}
    assert found.is_complete
