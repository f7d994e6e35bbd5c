"""Approvals with altered rows: applying one moves exactly the amount that is shown, or nothing."""

import json
from dataclasses import asdict, replace
from typing import Any

import pytest

from redpacket.approvals.api.views import approval_view
from redpacket.approvals.model import (
    Approval,
    CampaignAsked,
    CampaignMoneyAsked,
    DepositAsked,
    PendingChange,
    PrizeAsked,
    StockAsked,
)
from redpacket.lottery.model.lottery import PrizeKind
from redpacket.operations.errors import NotAsApproved
from redpacket.operations.model.allowances import ApprovalNeededError
from redpacket.operations.model.operators import Action, ActionKind, Change, changes_between
from redpacket.platform.dynamodb.client import to_wire
from redpacket.platform.idempotency import Request
from testing.builders import a_campaign, a_prize
from testing.in_memory_system import InMemorySystem, a_person, an_operator

ANN, BOB = an_operator("ann"), an_operator("bob")
AMOUNT_FEN = 2_000


@pytest.fixture
def system() -> InMemorySystem:
    system = InMemorySystem()
    system.deposit("ann", 10**6)
    system.approval_fen = 0
    return system


def _asked(system: InMemorySystem, key: str = "key") -> Approval:
    request = Request("ann", key, "body")
    with pytest.raises(ApprovalNeededError) as needed:
        system.process().deposit(a_person("user"), AMOUNT_FEN, request)
    change = DepositAsked("user", AMOUNT_FEN, request.key_hash, request.body_hash)
    approval: Approval = system.process().ask_approval(needed.value, ANN, lambda _: change)
    return approval


def _row(system: InMemorySystem, approval: Approval) -> dict[str, Any]:
    row: dict[str, Any] = system.row(
        "approvals", {"pk": f"approval#{approval.approval_id}", "sk": ""}
    )
    return row


def _forge(system: InMemorySystem, change: PendingChange, changes: tuple[Change, ...]) -> Approval:
    """Forge a valid approval of *change*, as any role that may write approvals could."""
    asked = Approval("", ANN.person, changes, change, system.clock.now_ms())
    action = Action(ANN.person, ActionKind.APPROVAL_ASKED, asked.subject, asked.asked_at_ms)
    approval = system.process().approvals.ask(asked, f"forged {change}", [], action)
    assert approval
    return approval


def _listed(system: InMemorySystem) -> list[Approval]:
    page, _ = system.process().approvals.list_approvals(None, 50)
    return list(page)


OTHER_DEPOSIT = json.dumps(asdict(DepositAsked("mallory", 10**6, "key", "body")))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("asked", OTHER_DEPOSIT),
        ("operator_id", "cat"),
        ("operator_host_id", "boss@host"),
        ("changes", "[]"),
        ("kind", "stock"),
        ("asked_at_ms", 9_999_999_999_999),
    ],
)
def test_an_altered_request_moves_nothing(system: InMemorySystem, field: str, value: Any) -> None:
    approval = _asked(system)
    _row(system, approval)[field] = to_wire({field: value})[field]

    for decide in (system.process().approve, system.process().reject):
        with pytest.raises(NotAsApproved):
            decide(approval.approval_id, BOB)

    assert [system.balance_fen(user) for user in ("user", "mallory")] == [0, 0]
    (listed,) = _listed(system)
    shown = approval_view(listed, {}, system.clock.now_ms())
    assert (shown["kind"], shown["status"], shown["amount_fen"]) == ("unreadable", "expired", 0)
    assert shown["summary"].endswith("asks to make a change that can't be verified")


def test_a_row_stored_under_another_approval_s_id_moves_nothing(
    system: InMemorySystem,
) -> None:
    seen, other = _asked(system), _asked(system, "other")
    moved = {**_row(system, other), **to_wire({"pk": f"approval#{seen.approval_id}"})}
    _row(system, seen).update(moved)

    with pytest.raises(NotAsApproved):
        system.process().approve(seen.approval_id, BOB)

    assert system.balance_fen("user") == 0


def test_subject_and_amount_are_those_of_the_change(system: InMemorySystem) -> None:
    approval = _asked(system)
    _row(system, approval).update(to_wire({"subject": "user:merchant", "amount_fen": 1}))

    (listed,) = _listed(system)

    assert (listed.subject, listed.amount_fen) == ("user:user", AMOUNT_FEN)


def test_rows_that_no_version_can_read_hide_no_others(system: InMemorySystem) -> None:
    good = _asked(system)
    bad: list[Any] = [
        {"kind": "of a newer version"},
        {"operator_id": 5, "asked_at_ms": "soon"},
        {**{name: [1] for name in ("operator_id", "changes", "kind", "asked", "asked_at_ms")}},
        {"operator_id": "x" * 3_000, "decided_by": "bob", "asked": "[]", "changes": "{}"},
    ]
    for number, row in enumerate(bad):
        key: dict[str, Any] = {
            "pk": f"approval#{number}",
            "list_pk": "approvals",
            "list_sk": f"9{number:012d}#a",
        }
        system.dynamo.put_item(TableName="approvals", Item=to_wire(key | row))

    listed = _listed(system)

    kinds = [approval_view(each, {}, 0)["kind"] for each in listed]
    assert kinds == ["unreadable"] * len(bad) + ["deposit"]
    assert listed[-1] == good


def test_a_request_of_an_older_release_must_be_made_again(system: InMemorySystem) -> None:
    pending, decided = _asked(system), _asked(system, "decided")
    system.process().reject(decided.approval_id, BOB)
    for approval in (pending, decided):
        row, old_id = _row(system, approval), approval.approval_id[::-1]
        old: dict[str, Any] = {
            "pk": f"approval#{old_id}",
            "subject": "user:user",
            "amount_fen": AMOUNT_FEN,
        }
        del system.dynamo.tables["approvals"][row["pk"]["S"], ""]
        system.dynamo.put_item(TableName="approvals", Item={**row, **to_wire(old)})

    with pytest.raises(NotAsApproved):
        system.process().approve(pending.approval_id[::-1], BOB)

    # Both rows from before the upgrade stay in the list, but neither can be applied.
    now_ms = system.clock.now_ms()
    shown = {(each.kind.value, each.status_at(now_ms).value) for each in _listed(system)}
    assert shown == {("unreadable", "expired"), ("deposit", "rejected")}
    assert system.balance_fen("user") == 0


# ---------------------------------------------------------------- false requests


def _campaign(system: InMemorySystem) -> None:
    assert system.campaigns.create(a_campaign(campaign_id="gala"))


def _cash(total: int) -> Any:
    return a_prize("gala", "cash", kind=PrizeKind.PACKET, amount_fen=100, total=total)


def test_a_budget_is_raised_by_the_shown_amount(system: InMemorySystem) -> None:
    _campaign(system)
    campaign = system.campaigns.find_campaign("gala")
    assert campaign
    changes = changes_between({"budget_fen": 0}, {"budget_fen": 10**6})
    lie = CampaignAsked(campaign.plan, 10**6, campaign.version, amount_fen=1)

    with pytest.raises(NotAsApproved):
        system.process().approve(_forge(system, lie, changes).approval_id, BOB)

    stored = system.campaigns.find_campaign("gala")
    assert stored
    assert stored.budget_fen == campaign.budget_fen


def test_a_deposit_changes_only_the_shown_fields(system: InMemorySystem) -> None:
    change = DepositAsked("user", AMOUNT_FEN, "key", "body", is_for_campaigns=True)
    shown = changes_between(None, {"amount_fen": AMOUNT_FEN})

    with pytest.raises(NotAsApproved):
        system.process().approve(_forge(system, change, shown).approval_id, BOB)

    assert system.balance_fen("user") == 0


@pytest.mark.parametrize("case", ["odds", "goods", "less stock"])
def test_an_approval_changes_no_prize_without_cash(system: InMemorySystem, case: str) -> None:
    _campaign(system)
    system.approval_fen = 10**6
    for prize in (_cash(9), a_prize("gala", "cup", total=5)):
        system.process().apply_prize(prize, None, ANN)
    lies: dict[str, PendingChange] = {
        "odds": PrizeAsked(replace(_cash(9), weight=10**6), 1, 900),
        "goods": PrizeAsked(a_prize("gala", "mug", total=5), 0, 900),
        "less stock": StockAsked("gala", "cash", -9, 1, "key", "body", 900),
    }
    before = system.prizes.list_prizes("gala")

    with pytest.raises(NotAsApproved):
        system.process().approve(_forge(system, lies[case], ()).approval_id, BOB)

    assert system.prizes.list_prizes("gala") == before


def test_a_repeat_leads_to_the_first_request(system: InMemorySystem) -> None:
    first = _asked(system)
    system.clock.sleep_ms(1_000)

    assert _asked(system) == first
    assert len(_listed(system)) == 1


KINDS: dict[str, PendingChange] = {
    "0": DepositAsked("user", 1, "key", "body"),
    "1": CampaignMoneyAsked("rain", "user", "", "key", "body", 1),
    "2": CampaignAsked(a_campaign().plan, None, 1, 1),
    "3": PrizeAsked(a_prize("gala"), 1, 1),
    "4": StockAsked("gala", "cup", 1, 1, "key", "body", 1),
}


@pytest.mark.parametrize("digit", KINDS)
def test_the_row_of_a_kind_has_an_id_that_the_requesting_role_may_write(
    system: InMemorySystem, digit: str
) -> None:
    asked = _forge(system, KINDS[digit], ())

    # An id's first digit names the kind, so a role limited to another digit cannot request this
    # kind.
    other = f"{(int(digit) + 1) % 5}{asked.approval_id[1:]}"
    row = system.dynamo.tables["approvals"].pop((f"approval#{asked.approval_id}", ""))
    moved = {**row, "pk": {"S": f"approval#{other}"}}
    system.dynamo.tables["approvals"][f"approval#{other}", ""] = moved

    found = system.process().approvals.find_approval(other)
    assert (asked.approval_id[0], found and found.is_verified) == (digit, False)
