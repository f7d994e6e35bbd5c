"""SQL statements of reconciliation: two engines agree on them, and each check finds its own
fault.
"""

from __future__ import annotations

from copy import deepcopy

import pytest

from redpacket.packets.dynamodb import keys
from redpacket.reconciliation.use_cases.reconcile import sums_of
from redpacket.reconciliation.use_cases.statements import MOVING_MS, Run, expanded, rules, texts
from testing.reconciliation import sql
from testing.reconciliation.checks import CHECKS, compare_history
from testing.reconciliation.planted import (
    BY_THE_ROW,
    HOUR_MS,
    NOT_IN_SQL,
    ONLY_TESTS,
    PLANTED,
    World,
    check_of,
    missed,
)
from testing.reconciliation.sql import move_entry


@pytest.fixture
def world() -> World:
    return World()


@pytest.mark.parametrize(("name", "text"), list(sql.statements()))
def test_two_engines_read_a_statement_alike(name: str, text: str) -> None:
    assert sql.refusals(text) == [], name


@pytest.mark.parametrize("text", sql.REFUSED)
def test_an_ambiguous_statement_is_refused(text: str) -> None:
    assert sql.refusals(text)


def test_every_check_has_a_planted_fault_and_the_same_rule_in_sql() -> None:
    assert {check_of(name) for name in PLANTED} == (set(CHECKS) - ONLY_TESTS) | set(rules())
    assert CHECKS.keys() - rules().keys() == {*NOT_IN_SQL, "check_posted"}
    assert {CHECKS.get(name, rule) for name, rule in rules().items()} == set(rules().values())


def test_a_correct_system_has_no_differences(world: World) -> None:
    assert world.told_by_tests() == set()
    assert world.night(0) == set()
    names = {name for name, _, _ in world.system.ledger_state().checked([], [])}
    assert names == set(CHECKS) - BY_THE_ROW


@pytest.mark.parametrize("planted", list(PLANTED))
def test_the_nightly_run_reports_the_fault_of_each_check(planted: str) -> None:
    assert missed(planted, is_incremental=True) is None


@pytest.mark.parametrize(
    "planted", [name for name in PLANTED if check_of(name) in set(CHECKS) - BY_THE_ROW]
)
def test_the_checks_in_python_find_the_same(world: World, planted: str) -> None:
    PLANTED[planted](world)

    assert check_of(planted) in world.told_by_tests()


def test_every_check_reads_at_least_one_item(world: World) -> None:
    world.system.pass_time(MOVING_MS + 1)

    reconciliation = world.system.reconcile()

    blind = {check.name for check in reconciliation.checks if not check.examined}
    # No earlier run exists.
    assert blind == {"audit_history", "check_kept"}
    assert reconciliation.differences == []


def test_money_that_both_sides_of_the_ledger_lost_is_found(world: World) -> None:
    """An entry and its balance contain a fen that no transfer moved."""
    entry = world.first("accounts", "user:bob", "entry#")
    world.add("accounts", entry, "amount_fen", 1)
    world.add("accounts", {**entry, "sk": "balance"}, "balance_fen", 1)
    world.system.pass_time(MOVING_MS + 1)

    differences = {check.name for check in world.system.reconcile().checks if check.differences}

    assert "check_conservation" in differences
    assert "check_entries" in differences  # The transfer's two sides differ.


def test_a_forged_number_of_any_size_stops_no_query(world: World) -> None:
    share = keys.share(world.open.packet_id, 1)
    for number in ("9" * 18, "9" * 30, "-1", "1.5", "1E9"):
        world.row("shares", share)["amount_fen"] = {"N": number}
        world.row("draws", world.first("draws", "user#", "day#"))["attempt_count"] = {"N": number}
        world.system.pass_time(MOVING_MS + 1)

        assert world.system.reconcile().differences


def test_history_that_changes_on_all_sides_is_found(world: World) -> None:
    world.system.pass_time(MOVING_MS + 1)
    assert world.system.reconcile().differences == []
    for pk in ("user:bob", "deposits"):
        key = world.first("accounts", pk, "entry#")
        world.row("accounts", key)["at_ms"] = {"N": "1700000000000"}

    differences = world.system.reconcile().differences

    assert "history" in {difference.rule for difference in differences}


def test_an_entry_that_moves_to_another_account_with_its_balance_is_found(world: World) -> None:
    """The amount and time stay the same, and so do the sums over all accounts."""
    world.system.deposit("ann", 10_000)
    world.system.pass_time(MOVING_MS + 1)
    assert world.system.reconcile().differences == []
    before = world.system.ledger_state().entries

    move_entry(world.system, "user:ann", "user:bob")

    differences = world.system.reconcile().differences
    # Neither account has the entries that the audit log implies, and one lost a row.
    assert {difference.rule for difference in differences} == {"I1", "I3", "history"}
    assert {
        difference.subject
        for difference in compare_history(before, world.system.ledger_state().entries)
    } == {"user:ann"}


def _lose(world: World, *tables: str) -> None:
    """Remove the latest rows of some tables, as a restore to an earlier moment does."""
    before = {table: deepcopy(world.system.dynamo.tables[table]) for table in tables}
    packet = world.system.send("sue", count=1, life_ms=HOUR_MS)
    world.system.grab(packet, "ann")
    world.system.settle()
    world.system.draw("fair", "user-1", "key-of-the-gap")
    world.town.pay_in("alice", 40)
    world.system.dynamo.tables.update(before)


@pytest.mark.parametrize("table", ["accounts", "packets", "shares", "draws", "payments"])
def test_a_gap_that_a_restore_leaves_in_one_table_is_found(world: World, table: str) -> None:
    _lose(world, table)

    assert world.night_in_order()
    assert "difference_found" in world.system.logger.events


def test_a_gap_in_all_tables_is_only_in_the_statement_of_the_provider(world: World) -> None:
    _lose(world, *world.system.dynamo.tables)

    assert world.night(0) == {"I6"}


@pytest.mark.parametrize("kind", ["packets", "draws"])
def test_the_audited_sample_depends_on_the_run(kind: str) -> None:
    asked = [expanded(texts("audits")[kind], Run(run_id, 0)) for run_id in ("00", "01", "02")]

    assert len({text.partition("ORDER BY")[2] for text in asked}) == len(asked)


def test_a_count_that_an_engine_omits_is_zero() -> None:
    assert sums_of((None, None)) == (0, 0)


@pytest.mark.parametrize("seed", range(4))
def test_sql_agrees_with_the_checks_over_random_ledgers(seed: int) -> None:
    assert sql.disagreement(seed) is None
