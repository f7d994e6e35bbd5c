"""Money without a cause: forged by a role that may write accounts, with consistent entries."""

import pytest

from redpacket.ledger.dynamodb import keys
from redpacket.ledger.model import DEPOSITS, Transfer, TransferKind
from redpacket.platform.idempotency import Request
from redpacket.reconciliation.use_cases.statements import MOVING_MS
from testing.in_memory_system import InMemorySystem, a_person, an_order
from testing.reconciliation.planted import forge_transfer

MONEY = Request("treasurer", "campaign money", "")


@pytest.fixture
def town() -> InMemorySystem:
    """Return a system with a user's money, campaign money, and a partial move."""
    system = InMemorySystem()
    system.deposit("ann", 1_000)
    for user in ("rain", "storm"):
        request = Request("treasurer", user, user)
        system.deposit_for_campaigns(user, 500, request)
    system.process().move_campaign_money(a_person("rain"), a_person("storm"), "", MONEY)
    system.pass_time(MOVING_MS + 1)
    return system


def _night(system: InMemorySystem) -> tuple[set[str], set[str]]:
    """Return the SQL checks and the whole-ledger checks that find a difference."""
    system.pass_time(MOVING_MS + 1)
    result = system.reconcile()
    by_python = system.ledger_state().checked([], [])
    return (
        {check.name for check in result.checks if check.differences},
        {name for name, _, differences in by_python if differences},
    )


def test_money_that_operators_moved_has_its_cause(town: InMemorySystem) -> None:
    town.process().unmark_account(a_person("rain").user_id, a_person("auditor"))

    assert _night(town) == (set(), set())
    examined = {check.name: check.examined for check in town.reconcile().checks}
    assert (examined["check_causes"], examined["check_marks"]) == (9, 2)


FORGED = {
    "a deposit": (TransferKind.DEPOSIT, DEPOSITS, "user:mallory"),
    "a move of campaign money": (TransferKind.CAMPAIGN_MONEY, "user:storm", "user:rain"),
    "a refund of another user": (TransferKind.REFUND, "user:ann", "user:mallory"),
    "a debt of nobody": (TransferKind.PAYMENT_REFUNDED, "receivable:mallory", "user:mallory"),
}


@pytest.mark.parametrize("forged", FORGED)
def test_a_forged_transfer_with_both_entries_is_found(town: InMemorySystem, forged: str) -> None:
    kind, debit, credit = FORGED[forged]
    transfer = Transfer("collected:forged", kind, debit, credit, 100, town.clock.now_ms())

    forge_transfer(town, transfer)

    # No other check finds this transfer.
    assert _night(town) == ({"check_causes"}, {"check_causes"})


def test_a_deposit_whose_amount_differs_from_the_audit_log_is_found(town: InMemorySystem) -> None:
    for account, sign in (("user:ann", 1), (DEPOSITS, -1)):
        (entry,) = [
            row
            for row in town.dynamo.tables["accounts"].values()
            if row["pk"]["S"] == account
            and row["sk"]["S"] != keys.BALANCE
            and row["amount_fen"] == {"N": str(sign * 1_000)}
        ]
        entry["amount_fen"] = {"N": str(sign * 9_000)}
        balance = town.row("accounts", keys.account(account))
        balance["balance_fen"] = {"N": str(int(balance["balance_fen"]["N"]) + sign * 8_000)}

    assert _night(town) == ({"check_causes"}, {"check_causes"})


@pytest.mark.parametrize("kind", ["deposit", "campaign_money_moved", "campaign_mark_removed"])
def test_a_row_of_the_audit_log_that_other_roles_can_put_is_not_a_cause(
    town: InMemorySystem, kind: str
) -> None:
    town.process().unmark_account(a_person("rain").user_id, a_person("auditor"))
    rows = [row for row in town.dynamo.tables["journal"].values() if row["kind"]["S"] == kind]

    for row in rows:
        # Seven roles may write these rows, but none of them may write this attribute.
        assert row.pop("is_cause") == {"BOOL": True}

    assert rows
    check = "check_marks" if kind == "campaign_mark_removed" else "check_causes"
    sql, python = _night(town)
    assert check in sql & python


# ---- marks


def test_a_mark_that_was_removed_without_an_operator_is_found(town: InMemorySystem) -> None:
    town.row("accounts", keys.account("user:storm")).pop("is_for_campaigns")

    assert _night(town) == ({"check_marks"}, {"check_marks"})


def test_campaign_money_spent_without_its_mark_is_found(town: InMemorySystem) -> None:
    mark = town.row("accounts", keys.account("user:storm")).pop("is_for_campaigns")
    packet = town.send_order(an_order("storm", total_fen=100, share_fen_max=100, count=1))
    town.grab(packet, "accomplice")
    town.settle()
    town.row("accounts", keys.account("user:storm"))["is_for_campaigns"] = mark

    assert _night(town) == ({"check_marks"}, {"check_marks"})


def test_a_mark_of_another_type_is_found(town: InMemorySystem) -> None:
    town.row("accounts", keys.account("user:ann"))["is_for_campaigns"] = {"S": "x"}

    assert "check_marks" in _night(town)[0]


def test_a_mark_that_no_operator_set_is_found(town: InMemorySystem) -> None:
    town.row("accounts", keys.account("user:ann"))["is_for_campaigns"] = {"BOOL": True}

    assert _night(town) == ({"check_marks"}, {"check_marks"})


def test_money_of_a_user_whose_mark_an_operator_removed_is_free(town: InMemorySystem) -> None:
    town.process().unmark_account(a_person("rain").user_id, a_person("auditor"))
    town.pass_time(60_000)
    town.send("rain", total_fen=100, share_fen_max=100, count=1)

    assert _night(town) == (set(), set())
