from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from local.warehouse import Duck
from redpacket.ledger.dynamodb import keys
from redpacket.ledger.model import DEPOSITS, Transfer, TransferKind
from redpacket.packets.dynamodb import keys as packet_keys
from redpacket.packets.dynamodb.items import share_row
from redpacket.packets.model.claim import Share
from redpacket.packets.model.packet import Packet, shard_count
from redpacket.packets.split import Terms
from redpacket.platform.difference import Difference
from redpacket.platform.dynamodb.client import to_wire
from redpacket.reconciliation.use_cases.audit_packet import PacketAudit, audit_packet
from redpacket.reconciliation.use_cases.reconcile import Reconciliation
from redpacket.reconciliation.use_cases.statements import MOVING_MS, Run
from testing.builders import NOW_MS, a_campaign, a_refund, list_shares
from testing.fakes import Away
from testing.in_memory_system import InMemorySystem
from testing.payments.payment_system import PaymentSystem
from testing.platform.fake_services import FakeDeadLetters
from testing.reconciliation.planted import forge_transfer

LIFE_MS = 3_600_000

ALL = ("I1", "all accounts")
"""Difference if wallets and packets do not add up to the deposits."""

Rules = set[tuple[str, str]]


@pytest.fixture
def town() -> InMemorySystem:
    """Return a system with an open packet and an emptied one, all of it settled."""
    system = InMemorySystem()
    for packet in [system.send(count=count, life_ms=LIFE_MS) for count in (4, 2)]:
        for user in ("ann", "bob"):
            system.grab(packet, user)
    system.settle()
    # Wait, because a nightly run leaves recent entries to the next one.
    system.pass_time(MOVING_MS + 1)
    return system


@pytest.fixture
def packet_id(town: InMemorySystem) -> str:
    """Return the id of the system's first packet."""
    return town.ledger_state().packets[0].packet.packet_id


def _key(key: dict[str, str]) -> tuple[str, str]:
    return key["pk"], key["sk"]


def _audit(system: InMemorySystem, packet_id: str) -> PacketAudit:
    return audit_packet(packet_id, packets=system.packets, ledger=system.ledger, clock=system.clock)


def _rules(differences: Iterable[Difference]) -> Rules:
    return {(difference.rule, difference.subject) for difference in differences}


def _told(system: InMemorySystem) -> Rules:
    return _rules(system.reconcile().differences)


def _examined(reconciliation: Reconciliation) -> dict[str, int]:
    return {check.name: check.examined for check in reconciliation.checks}


def _plant(system: InMemorySystem) -> None:
    """Set ann's balance to one fen."""
    system.row("accounts", keys.account("user:ann"))["balance_fen"] = {"N": "1"}


PLANTED = {("I1", "user:ann")}


# ---- sharded packets


@pytest.fixture
def in_shards() -> tuple[InMemorySystem, Packet]:
    system = InMemorySystem()
    system.shard_share_count = 3
    campaign = a_campaign()
    system.campaigns.create(campaign)
    packet = system.send(campaign=campaign, count=9, life_ms=LIFE_MS)
    assert shard_count(packet.packet_id) == 3
    system.crowd(packet, 7)
    system.settle()
    system.pass_time(MOVING_MS + 1)
    return system, packet


def test_a_correct_sharded_packet_has_no_differences(
    in_shards: tuple[InMemorySystem, Packet],
) -> None:
    result = in_shards[0].reconcile()

    assert result.differences == []
    assert _examined(result)["check_tally"] == 1


def test_a_lost_share_of_a_sharded_packet_is_found(
    in_shards: tuple[InMemorySystem, Packet],
) -> None:
    system, packet = in_shards
    share = list_shares(system.packets, packet.packet_id)[4]
    system.dynamo.tables["shares"].pop(_key(packet_keys.share(packet.packet_id, share.share_no)))

    # The claim's entry, receipt, claimer's row and count remain without an outcome.
    assert {rule for rule, _ in _told(system)} == {"I1", "I2", "I4", "I9"}


# ---- changed rows


def test_a_correct_ledger_has_no_differences(town: InMemorySystem) -> None:
    reconciliation = town.reconcile()

    assert reconciliation.differences == []
    examined = _examined(reconciliation)
    # Each of the two packets has a send and two claims.
    assert (examined["check_tally"], examined["check_postings"]) == (2, 2 * (1 + 2))
    # The system has no draws and no payments.
    assert (examined["check_lottery"], examined["check_payments"]) == (0, 0)
    assert town.logger.events == ["reconcile_complete"]


P = "the packet"
CHANGES: list[tuple[str, Any, dict[str, str] | None, Rules]] = [
    ("accounts", lambda _: keys.account("user:ann"), {"balance_fen": "1"}, PLANTED),
    (
        "shares",
        lambda p: packet_keys.share(p, 1),
        {"amount_fen": "7777"},
        {*((f"I{rule}", P) for rule in (1, 2, 3, 4)), ALL},
    ),
    # The settlement time differs from the time in the entry and in the receipt.
    (
        "shares",
        lambda p: packet_keys.share(p, 1),
        {"settled_at_ms": str(NOW_MS - 4)},
        {("I1", P), ("I2", P)},
    ),
    ("accounts", lambda p: keys.receipt(p, 1), None, {("I2", P)}),
    ("accounts", lambda p: keys.receipt(p, 1), {"amount_fen": "1"}, {("I2", P)}),
    ("shares", lambda p: packet_keys.claimer(p, "ann"), None, {("I4", P)}),
    ("shares", lambda p: packet_keys.claimer(p, "bob"), {"share_no": "4000"}, {("I4", P)}),
    ("shares", lambda p: packet_keys.claimer(p, "bob"), {"amount_fen": "4000"}, {("I4", P)}),
]


@pytest.mark.parametrize(("table", "key", "change", "expected"), CHANGES)
def test_a_changed_or_lost_row_is_found(
    town: InMemorySystem,
    packet_id: str,
    table: str,
    key: Any,
    change: dict[str, str] | None,
    expected: Rules,
) -> None:
    if change:
        town.row(table, key(packet_id)).update(
            {name: {"N": number} for name, number in change.items()}
        )
    else:
        del town.dynamo.tables[table][_key(key(packet_id))]

    reconciliation = town.reconcile()

    wanted = {(rule, subject.replace(P, packet_id)) for rule, subject in expected}
    assert _rules(reconciliation.differences) == wanted
    assert town.logger.events == ["difference_found"] * len(reconciliation.differences) + [
        "reconcile_complete"
    ]
    # An audit of the packet reports the packet's differences; those of I2 may be missing.
    of_packet = {told for told in wanted if told[1] == packet_id}
    assert of_packet <= _rules(_audit(town, packet_id).differences) | {("I2", packet_id)}
    if expected == {("I4", P)}:
        user = "ann" if change is None else "bob"
        assert all(user in difference.what for difference in reconciliation.differences)


def test_an_entry_with_a_changed_date_is_found(town: InMemorySystem) -> None:
    accounts = town.dynamo.tables["accounts"]
    entry = next(row for (_, sk), row in accounts.items() if sk.startswith("entry#"))

    entry["at_ms"] = {"N": str(int(entry["at_ms"]["N"]) + 1_000)}

    assert ("I3", f"{entry['pk']['S']} {entry['sk']['S']}") in _told(town)


@pytest.mark.parametrize("change", ["cancelled", "endless"])
def test_money_that_no_sweep_returns_is_found(
    town: InMemorySystem, packet_id: str, change: str
) -> None:
    row = town.row("packets", packet_keys.packet(packet_id))
    if change == "cancelled":
        row["status"] = {"S": "cancelled"}
    else:
        row["expires_at_ms"] = {"N": "9999999999999"}

    assert ("I8", packet_id) in _told(town)


def test_an_entry_without_a_claim_is_found(town: InMemorySystem, packet_id: str) -> None:
    accounts = town.dynamo.tables["accounts"]
    key = keys.claim_entry("user:ann", town.clock.now_ms() - MOVING_MS - 5, packet_id, 4)
    accounts[_key(key)] = {
        **next(row for (_, sk), row in accounts.items() if sk.startswith("claim#")),
        "pk": {"S": "user:ann"},
        "sk": {"S": key["sk"]},
        "placed_at_ms": {"N": key["sk"].split("#")[1]},
        "transfer_id": {"S": f"settle:{packet_id}:4"},
        "counterparty": {"S": f"packet:{packet_id}"},
    }

    assert _told(town) == {("I1", "user:ann"), ("I1", packet_id), ALL}


def test_a_packet_whose_seed_key_is_missing_is_reported_and_hides_no_other(
    town: InMemorySystem, packet_id: str
) -> None:
    row = town.row("packets", packet_keys.packet(packet_id))
    terms = Terms.parse(row["terms"]["S"])
    unknown = replace(terms, seed=b"", sealed=bytes([99]) + terms.sealed[1:])
    row["terms"] = {"S": unknown.stored}

    result = town.reconcile()

    assert [(difference.subject, difference.what) for difference in result.differences] == [
        (packet_id, "outcomes that can be read")
    ]


@pytest.mark.parametrize("is_empty", [True, False], ids=["nothing in it", "half a fen"])
def test_an_unreadable_row_is_reported_and_hides_no_other(
    town: InMemorySystem, packet_id: str, *, is_empty: bool
) -> None:
    second = town.ledger_state().packets[1].packet.packet_id
    key = packet_keys.share(packet_id, 4 if is_empty else 1)
    if is_empty:
        town.dynamo.tables["shares"][_key(key)] = {k: {"S": text} for k, text in key.items()}
    else:
        town.row("shares", key)["amount_fen"] = {"N": "7.5"}
    _plant(town)

    result = town.reconcile()

    unread = [
        difference.subject
        for difference in result.differences
        if difference.what == "row that can be read"
    ]
    assert unread == [" ".join(key.values())]
    assert _rules(result.differences) >= {("I3", *unread), *PLANTED}
    assert second not in {difference.subject for difference in result.differences}


def test_a_forged_refund_that_moved_no_money_is_found(town: InMemorySystem, packet_id: str) -> None:
    refund = a_refund(town.ledger_state().packets[0].packet, 4)
    town.dynamo.tables["shares"][_key(packet_keys.share(packet_id, 4))] = to_wire(share_row(refund))

    assert _told(town) == {("I1", packet_id), ("I2", packet_id), ALL}


def test_terms_that_differ_from_the_promised_ones_are_found(
    town: InMemorySystem, packet_id: str
) -> None:
    # The other packet has no claims yet, so only the sender's entry has the commitment.
    for packet in (town.ledger_state().packets[0].packet, town.send(life_ms=LIFE_MS)):
        terms = replace(packet.terms, seed=b"a seed of a thief")
        town.row("packets", packet_keys.packet(packet.packet_id))["terms"] = {"S": str(terms)}
    town.pass_time(MOVING_MS + 1)

    assert _told(town) >= {("I1", packet_id), ("I1", packet.packet_id)}


def test_money_that_moves_between_the_reads_of_an_audit_is_not_a_difference() -> None:
    system = InMemorySystem()
    packet = system.send(count=2)
    share = system.grab(packet, "ann").share
    waiting = _audit(system, packet.packet_id).tally
    assert (waiting.share_count, waiting.unsettled_count) == (1, 1)
    assert waiting.unsettled_since_ms == share.decided_at_ms
    reads = [list_shares(system.packets, packet.packet_id)]
    system.settle()
    scan = system.packets.scan_shard_shares

    def behind(packet_id: str, shard: int, after_no: int = 0) -> Iterator[Share]:
        return iter(reads.pop()) if reads else scan(packet_id, shard, after_no)

    system.packets.scan_shard_shares = behind  # type: ignore[method-assign]

    audit = _audit(system, packet.packet_id)
    assert audit.differences == []
    assert (audit.tally.share_count, audit.tally.unsettled_count) == (1, 0)
    assert not reads


def test_dead_letters_are_found(town: InMemorySystem) -> None:
    assert _rules(town.reconcile(dead_count=3).differences) == {("queue", "payout DLQ")}


def test_a_claimer_row_without_its_claim_or_of_another_user_is_found(town: InMemorySystem) -> None:
    first, second = (facts.packet.packet_id for facts in town.ledger_state().packets)
    shares, eve, nowhere = town.dynamo.tables["shares"], {"pk": {"S": "user#eve"}}, "x" * 22
    stray = {**town.row("shares", packet_keys.claimer(first, "ann")), **eve}
    shares["user#eve", f"claim#{first}"] = stray
    of_none = {"sk": {"S": f"claim#{nowhere}"}, "packet_id": {"S": nowhere}}
    shares["user#eve", f"claim#{nowhere}"] = {**stray, **of_none}
    key = _key(packet_keys.claimer(second, "bob"))
    shares["user#eve", key[1]] = {**shares.pop(key), **eve}

    differences = town.reconcile().differences

    assert _rules(differences) == {("I4", first), ("I4", nowhere), ("I4", second)}
    assert any(
        "eve" in difference.what for difference in differences if difference.subject == second
    )


def test_an_entry_in_the_book_of_another_user_is_found(town: InMemorySystem) -> None:
    """An attacker moves a claim's entry to another account, and adjusts both balances to it."""
    accounts = town.dynamo.tables["accounts"]
    key = next(key for key in accounts if key[0] == "user:bob" and key[1].startswith("claim#"))
    entry = {**accounts.pop(key), "pk": {"S": "user:eve"}}
    accounts["user:eve", key[1]] = entry
    fen, balance = int(entry["amount_fen"]["N"]), accounts["user:bob", "balance"]
    sums = {"received_fen_2026": fen, "received_count_2026": 1, "balance_fen": fen}
    for name, number in sums.items():
        balance[name] = {"N": str(int(balance[name]["N"]) - number)}
    thiefs = {name: {"N": str(number)} for name, number in sums.items()}
    accounts["user:eve", "balance"] = {**thiefs, "pk": {"S": "user:eve"}, "sk": {"S": "balance"}}

    actual = _told(town)

    packet_id = entry["counterparty"]["S"].removeprefix("packet:")
    assert ("I1", packet_id) in actual
    assert ALL not in actual


# ---- unavailable services and concurrent changes


def test_an_unavailable_queue_hides_nothing_of_the_ledger(town: InMemorySystem) -> None:
    _plant(town)
    dead_letters: Any = Away(error=PermissionError)

    reconciliation = town.compare(dead_letters)
    reconciliation.report(town.logger)

    assert _rules(reconciliation.differences) == PLANTED
    assert _examined(reconciliation)["audit_dead_letters"] == 0
    assert town.logger.events == ["difference_found", "reconcile_incomplete"]


# ---- two looks


def _plant_fens(system: InMemorySystem, names: Sequence[str]) -> None:
    for name in names:
        key = keys.account(f"user:{name}")
        system.dynamo.tables["accounts"][_key(key)] = to_wire({**key, "balance_fen": 1})


def test_a_second_check_reports_everything_that_differed_in_the_first(
    town: InMemorySystem,
) -> None:
    once, again = ([f"{name}{number:03}" for number in range(220)] for name in ("new", "old"))
    _plant_fens(town, [*once, "zed"])
    first = town.compare(FakeDeadLetters(0))
    for name in once:
        del town.dynamo.tables["accounts"][_key(keys.account(f"user:{name}"))]
    _plant_fens(town, again)

    second = town.compare(FakeDeadLetters(0), first)

    for look in (first, second):
        assert {each.name: each.differences for each in look.checks if each.differences} == {
            "check_entries": 221
        }
        assert (len(look.differences), look.is_truncated) == (200, True)


def test_a_forged_move_whose_date_changes_between_the_checks_is_confirmed(
    town: InMemorySystem,
) -> None:
    at_ms = town.clock.now_ms() - MOVING_MS - 5
    forge_transfer(town, Transfer("forged", TransferKind.DEPOSIT, DEPOSITS, "user:eve", 1, at_ms))
    first = town.compare(FakeDeadLetters(0))
    for row in town.dynamo.tables["accounts"].values():
        if row.get("transfer_id") == {"S": "forged"}:
            row["at_ms"] = {"N": str(at_ms - 1_000)}

    told = _rules(town.compare(FakeDeadLetters(0), first).differences)

    assert {("I1", DEPOSITS), ("I1", "user:eve")} <= told


def test_a_forged_move_that_names_another_packet_in_each_check_is_confirmed(
    town: InMemorySystem,
) -> None:
    at_ms = town.clock.now_ms() - MOVING_MS - 5
    forge_transfer(town, Transfer("forged", TransferKind.REFUND, "user:ann", "user:eve", 1, at_ms))
    rows = town.dynamo.tables["accounts"].values()
    forged = [row for row in rows if row.get("transfer_id") == {"S": "forged"}]

    def look(packet_id: str, first: Reconciliation | None = None) -> Reconciliation:
        for row in forged:
            row["counterparty"] = {"S": f"packet:{packet_id}"}
        return town.compare(FakeDeadLetters(0), first)

    assert ("I1", "second") in _rules(look("second", look("first")).differences)


def test_a_balance_without_an_entry_is_reported_even_if_the_account_moves(
    town: InMemorySystem,
) -> None:
    def moving(added_fen: int, first: Reconciliation | None = None) -> Reconciliation:
        town.deposit("ann", 1_000)
        row = town.row("accounts", keys.account("user:ann"))
        row["balance_fen"] = {"N": str(int(row["balance_fen"]["N"]) + added_fen)}
        return town.compare(FakeDeadLetters(0), first)

    (difference,) = moving(1, moving(90_000)).differences

    assert (difference.rule, difference.subject) == ("I1", "user:ann")
    assert difference.what == "balance vs entries"


def test_a_balance_that_an_export_split_is_correct_in_a_strong_read(
    town: InMemorySystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    balance = town.row("accounts", keys.account("user:ann"))
    exported = vars(type(town))["_exported"]
    right, counts = dict(balance), list[tuple[int, int]]()

    def cut(system: InMemorySystem, run: Run, database: str) -> Duck:
        """Export a balance without its entries' amounts, as if the export split transactions."""
        balance["balance_fen"] = {"N": "1"}
        duck: Duck = exported(system, run, database)
        balance.update(right)
        counts.append(duck.counts(run)["check_entries"])
        return duck

    monkeypatch.setattr(type(town), "_exported", cut)

    assert town.compare(FakeDeadLetters(0)).differences == []
    assert [differing for _, differing in counts] == [1]


def test_a_count_with_other_wrong_numbers_in_each_check_is_confirmed(
    town: InMemorySystem,
) -> None:
    sender = town.ledger_state().packets[0].packet.sender.user_id
    row = town.row("accounts", keys.account(f"user:{sender}"))
    row["open_count"] = {"N": "7"}
    first = town.compare(FakeDeadLetters(0))
    row["open_count"] = {"N": "8"}

    (difference,) = town.compare(FakeDeadLetters(0), first).differences

    assert (difference.rule, difference.subject, difference.actual) == ("I9", f"user:{sender}", 8)


def test_a_count_that_an_export_split_once_is_not_confirmed(town: InMemorySystem) -> None:
    row = town.row("accounts", keys.account("user:ann"))
    row["open_count"] = {"N": "1"}
    first = town.compare(FakeDeadLetters(0))
    row["open_count"] = {"N": "0"}
    town.row("accounts", keys.account("user:bob"))["open_count"] = {"N": "1"}

    assert [each.subject for each in first.differences] == ["user:ann"]
    assert town.compare(FakeDeadLetters(0), first).differences == []


# ---- rows and their history


def _night(town: InMemorySystem) -> set[str]:
    result = town.reconcile()
    return {check.name for check in result.checks if check.differences}


def _end(town: InMemorySystem) -> None:
    town.pass_time(LIFE_MS + 1)
    town.expire()


def _entry_of_a_moment_ago(town: InMemorySystem) -> None:
    """Put an entry without a packet, at a time that is left to the next run."""
    at_ms = str(town.clock.now_ms() - 60_000)
    key = {"pk": "user:eve", "sk": "claim#1700000000000#x#1"}
    texts = {"transfer_id": "settle:x:1", "kind": "settle", "counterparty": "packet:x"}
    numbers = {"amount_fen": "9000", "at_ms": at_ms, "placed_at_ms": "1700000000000"}
    town.dynamo.tables["accounts"][_key(key)] = {
        **{name: {"S": text} for name, text in {**key, **texts}.items()},
        **{name: {"N": number} for name, number in numbers.items()},
    }


def test_an_entry_whose_date_changes_before_each_night_is_found(town: InMemorySystem) -> None:
    balance = keys.account("user:eve")
    town.dynamo.tables["accounts"][_key(balance)] = to_wire({**balance, "balance_fen": 9_000})
    _end(town)
    nights = []
    for _ in range(2):
        town.pass_time(23 * 3_600_000)
        _entry_of_a_moment_ago(town)
        nights.append(_night(town))

    assert nights == [set(), {"check_kept"}]


def test_a_changed_row_is_reported_although_the_second_check_has_it_right(
    town: InMemorySystem,
) -> None:
    assert _night(town) == set()
    facts, *_ = town.ledger_state().packets
    packet = town.row("packets", packet_keys.packet(facts.packet.packet_id))
    right = dict(packet)
    packet["created_at_ms"] = {"N": str(int(packet["created_at_ms"]["N"]) - 1)}
    first = town.compare(FakeDeadLetters(0))
    packet.update(right)

    second = town.compare(FakeDeadLetters(0), first)

    told = {(each.subject, each.actual) for each in second.differences if each.rule == "I3"}
    assert told == {(f"{packet['pk']['S']} packet", " created_at_ms")}


def test_a_removed_line_of_money_outside_is_reported() -> None:
    payments = PaymentSystem()
    payments.pay_in("alice", 900)
    payments.system.pass_time(MOVING_MS + 1)
    assert _night(payments.system) == set()
    rows = payments.system.dynamo.tables["payments"]
    for key in [key for key in rows if key[0].startswith(("outside#", "payment#"))]:
        del rows[key]

    assert "check_kept" in _night(payments.system)


def test_changes_by_nightly_jobs_are_not_reported(town: InMemorySystem) -> None:
    assert _night(town) == set()
    packet = town.packets.find_packet(town.ledger_state().packets[0].packet.packet_id)
    assert packet
    town.grab(packet, "cat")
    town.settle()
    _end(town)
    town.pass_time(MOVING_MS + 1)

    result = town.reconcile()

    assert result.differences == []
    assert _examined(result)["check_kept"] > 0
