"""Four-eyes rule: changes above the limits for 24 hours, of one operator or of all together,
wait for approval, and apply only once.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redpacket.approvals.api.summaries import approval_summary
from redpacket.approvals.api.views import approval_view
from redpacket.approvals.dynamodb.approvals import DynamoApprovals
from redpacket.approvals.errors import ApprovalNotFound, FourEyesNeeded
from redpacket.approvals.model import (
    LIFE_MS,
    Approval,
    ApprovalStatus,
    CampaignAsked,
    CampaignMoneyAsked,
    DepositAsked,
    PrizeAsked,
    StockAsked,
)
from redpacket.campaigns.model import CampaignPlan
from redpacket.ledger.errors import InsufficientFunds
from redpacket.lottery.model.lottery import PrizeKind
from redpacket.operations.dynamodb import keys as operator_keys
from redpacket.operations.dynamodb.audit_log import DynamoActions
from redpacket.operations.model.allowances import (
    PERIOD_MS,
    WINDOW_MS,
    Allowance,
    ApprovalNeededError,
)
from redpacket.operations.model.operators import Action, ActionKind
from redpacket.platform import errors
from redpacket.platform.dynamodb.client import Dynamo, to_wire
from redpacket.platform.idempotency import Request
from redpacket.reconciliation.use_cases.statements import MOVING_MS
from testing.builders import NOW_MS, a_campaign, a_prize
from testing.in_memory_system import InMemorySystem, a_person, an_operator, an_order
from testing.platform.fake_tables import TABLE_NAMES

ANN, BOB, CAT = (an_operator(name) for name in ("ann", "bob", "cat"))
LIMIT_FEN = 1_000
AWAITING, APPROVED = ApprovalStatus.AWAITING, ApprovalStatus.APPROVED


@pytest.fixture
def system() -> InMemorySystem:
    system = InMemorySystem()
    system.approval_fen = LIMIT_FEN
    return system


def _waits(
    system: InMemorySystem, do: Callable[[], object], call: Callable[[Any], Any], **by: Any
) -> Approval | None:
    """Run an action as the handler does; return the approval that it waits for, if any."""
    try:
        do()
    except ApprovalNeededError as needed:
        approval: Approval = system.process().ask_approval(needed, by.pop("by", ANN), call, **by)
        return approval
    return None


def _deposit(
    system: InMemorySystem, amount_fen: int, key: str, user: str = "user", by: str = "ann"
) -> Approval | None:
    request, payee = Request(by, key, f"body {amount_fen}"), a_person(user)
    change = DepositAsked(user, amount_fen, request.key_hash, request.body_hash)
    return _waits(
        system,
        lambda: system.process().deposit(payee, amount_fen, request),
        lambda _: change,
        by=an_operator(by),
        payee=payee,
    )


def _moved_alone(system: InMemorySystem, limit_fen: int) -> list[int | str]:
    """Run reconciliation; return the operators' sums that it reports as above *limit_fen*."""
    system.everyone_fen = limit_fen
    system.pass_time(MOVING_MS + 1)
    found = system.reconcile().differences
    return [each.actual for each in found if each.subject == "operators"]


def test_a_night_reports_moves_above_the_limit_without_approval(
    system: InMemorySystem,
) -> None:
    assert _deposit(system, LIMIT_FEN, "first") is None
    approval = _asked(_deposit(system, LIMIT_FEN, "second"))
    system.process().approve(approval.approval_id, BOB)

    assert system.balance_fen("user") == 2 * LIMIT_FEN
    assert _moved_alone(system, LIMIT_FEN) == []
    # If the limit is one fen lower, the first deposit exceeds it.
    assert _moved_alone(system, LIMIT_FEN - 1) == [LIMIT_FEN]


_PERIOD = NOW_MS // PERIOD_MS


@pytest.mark.parametrize(
    "key", [operator_keys.moved("ann", _PERIOD), operator_keys.allowance("ann", "user:user")]
)
def test_a_sum_that_can_not_be_read_needs_an_approval(
    system: InMemorySystem, key: dict[str, str]
) -> None:
    """Five roles may write sums. A bad row neither raises a limit nor locks an operator out."""
    system.operator_fen = LIMIT_FEN
    row = {**key, "moved_fen": "no", "sums": "no"}
    system.dynamo.put_item(TableName="approvals", Item=to_wire(row))

    approval = _asked(_deposit(system, 1, "first"))
    system.process().approve(approval.approval_id, BOB)

    assert system.balance_fen("user") == 1


def _budget(system: InMemorySystem, budget_fen: int, version: int | None = None) -> Approval | None:
    made = a_campaign(campaign_id="gala", title="new")
    plan = CampaignPlan(**{each.name: getattr(made, each.name) for each in fields(CampaignPlan)})
    return _waits(
        system,
        lambda: system.process().apply_campaign(plan, budget_fen, version, ANN),
        lambda shown: CampaignAsked(plan, budget_fen, shown.version, shown.amount_fen),
    )


def _found_fen(system: InMemorySystem) -> int | None:
    campaign = system.campaigns.find_campaign("gala")
    return campaign.budget_fen if campaign else None


def _asked(approval: Approval | None) -> Approval:
    assert approval
    return approval


# ---------------------------------------------------------------- the sum


def test_amounts_within_the_sum_are_moved_at_once_and_larger_ones_wait(
    system: InMemorySystem,
) -> None:
    assert _deposit(system, LIMIT_FEN, "first") is None

    approval = _asked(_deposit(system, 1, "second"))

    assert approval.status is AWAITING
    assert (approval.amount_fen, approval.operator_id, approval.payee_id) == (1, "ann", "user")
    assert system.balance_fen("user") == LIMIT_FEN


def test_the_sum_is_counted_by_operator_and_subject(system: InMemorySystem) -> None:
    assert _deposit(system, LIMIT_FEN, "a") is None

    assert _deposit(system, LIMIT_FEN, "b", user="other") is None
    assert _deposit(system, LIMIT_FEN, "c", by="bob") is None
    assert _deposit(system, 1, "d") is not None


def _sock_puppets(system: InMemorySystem, by: str = "ann", first: int = 0) -> int:
    """Deposit up to the limit for one user after another; return how many deposits did not wait."""
    for number in range(first, first + 10):
        key = f"puppet-{number}"
        if _deposit(system, LIMIT_FEN, key, user=key, by=by):
            return number - first
    return 10


def test_an_operator_who_pays_many_users_waits_above_the_limit_for_all(
    system: InMemorySystem,
) -> None:
    system.operator_fen = 3 * LIMIT_FEN

    assert _sock_puppets(system) == 3

    assert _deposit(system, 1, "one more") is not None
    assert _budget(system, 1) is not None
    assert _sock_puppets(system, by="bob", first=20) == 3


def test_operators_together_wait_above_the_limit_of_the_deployment(system: InMemorySystem) -> None:
    system.operator_fen, system.everyone_fen = 3 * LIMIT_FEN, 4 * LIMIT_FEN

    assert [_sock_puppets(system, by="ann"), _sock_puppets(system, by="bob", first=20)] == [3, 1]
    assert _sock_puppets(system, by="cat", first=40) == 0


@pytest.mark.parametrize("started_ms", [0, 1, 6 * 3_600_000 - 1, 7 * 3_600_000])
def test_no_24_hours_hold_more_than_the_limit_for_all(
    system: InMemorySystem, started_ms: int
) -> None:
    system.operator_fen = LIMIT_FEN
    system.clock.sleep_ms(-system.clock.now_ms() % WINDOW_MS + started_ms)
    assert _deposit(system, LIMIT_FEN, "first") is None

    system.clock.sleep_ms(WINDOW_MS - 1)
    assert _deposit(system, 1, "early", user="other") is not None
    system.clock.sleep_ms(WINDOW_MS // 4 + 1)

    assert _deposit(system, LIMIT_FEN, "later", user="other") is None


@pytest.mark.parametrize("before_fen", [0, 100])
def test_concurrent_moves_to_other_users_cannot_both_use_the_remaining_sum(
    system: InMemorySystem, before_fen: int
) -> None:
    system.operator_fen = LIMIT_FEN
    assert not before_fen or _deposit(system, before_fen, "before", user="first") is None

    done = _both_at_once(
        system,
        lambda: _deposit(system, 401 - before_fen, "other", user="second"),
        lambda: _deposit(system, 600, "mine", user="third"),
    )

    assert done == [True, False]
    assert [system.balance_fen(user) for user in ("second", "third")] == [401 - before_fen, 0]


def test_concurrent_moves_to_other_users_within_the_limit_all_succeed(
    system: InMemorySystem,
) -> None:
    calls: list[int] = []

    def other(_operations: Any) -> None:
        calls.append(1)
        if len(calls) == 1:
            assert _deposit(system, 1, "other", user="second") is None

    system.before_each_transaction(other)
    assert _deposit(system, 1, "mine", user="third") is None

    assert len(calls) == 2


def test_the_sum_covers_any_24_hours(system: InMemorySystem) -> None:
    assert _deposit(system, 600, "a") is None
    system.clock.sleep_ms(WINDOW_MS - 1)
    assert _deposit(system, 400, "b") is None
    assert _deposit(system, 1, "c") is not None

    system.clock.sleep_ms(1)

    assert _deposit(system, 601, "d") is not None
    assert _deposit(system, 600, "e") is None
    assert _deposit(system, 1, "f") is not None


@given(st.lists(st.tuples(st.integers(0, WINDOW_MS // 3), st.integers(1, 100)), max_size=40))
def test_the_stored_sums_never_count_less_than_the_moved_amount(
    moves: list[tuple[int, int]],
) -> None:
    allowance, now_ms, done = Allowance("ann", "user:bob"), 10**12, []
    for later_ms, fen in moves:
        now_ms += later_ms
        allowance = allowance.spent(fen, now_ms)
        done.append((now_ms, fen))

        true_fen = sum(fen for at_ms, fen in done if at_ms > now_ms - WINDOW_MS)
        assert allowance.sum_fen(now_ms) >= true_fen
        assert len(allowance.sums) <= 290


def _both_at_once(
    system: InMemorySystem, other: Callable[[], Approval | None], mine: Callable[[], Any]
) -> list[bool]:
    """Run *other* in the middle of *mine*; return, in the order of completion, whether each one
    needed no approval.
    """
    approvals: list[Approval | None] = []

    system.before_first_transaction(lambda _: approvals.append(other()))
    approvals.append(mine())
    return [approval is None for approval in approvals]


@pytest.mark.parametrize("before_fen", [0, 100], ids=["the first ones", "later ones"])
def test_concurrent_deposits_cannot_both_use_the_remaining_sum(
    system: InMemorySystem, before_fen: int
) -> None:
    if before_fen:
        assert _deposit(system, before_fen, "before") is None

    done = _both_at_once(
        system, lambda: _deposit(system, 600, "other"), lambda: _deposit(system, 600, "mine")
    )

    assert done == [True, False]
    assert system.balance_fen("user") == before_fen + 600


def test_a_repeat_counts_once_and_needs_no_approval(system: InMemorySystem) -> None:
    for _ in range(3):
        assert _deposit(system, 600, "same") is None

    assert _deposit(system, 400, "rest") is None
    system.approval_fen = 0
    assert _deposit(system, 600, "same") is None
    assert system.balance_fen("user") == LIMIT_FEN


def test_a_move_counts_up_to_the_amount_that_the_limits_leave(system: InMemorySystem) -> None:
    system.operator_fen = system.everyone_fen = LIMIT_FEN
    for later_ms, amount_fen in ((0, 200), (PERIOD_MS, 300)):
        system.pass_time(later_ms)
        assert _deposit(system, amount_fen, f"key-{amount_fen}") is None

    for later_ms, others_fen in ((0, 200), (PERIOD_MS, 500)):
        system.pass_time(later_ms)
        allowance = system.process().approval_policy.spend(ANN, "another", 100)

        assert allowance
        assert [count.fen_max for count in allowance.counts] == [LIMIT_FEN - 100 - others_fen] * 2


# ---------------------------------------------------------------- requested, approved, rejected


def test_a_repeated_request_returns_the_same_approval(system: InMemorySystem) -> None:
    first = _asked(_deposit(system, 2_000, "key"))
    system.clock.sleep_ms(5)

    assert _deposit(system, 2_000, "key") == first
    with pytest.raises(errors.IdempotencyKeyReused):
        _deposit(system, 3_000, "key")
    assert _asked(_deposit(system, 2_000, "other")).approval_id != first.approval_id
    page, _ = system.process().approvals.list_approvals(None, 10)
    assert len(page) == 2


def test_an_approved_change_is_applied_once(system: InMemorySystem) -> None:
    approval = _asked(_deposit(system, 2_000, "key"))

    for approver in (BOB, BOB, CAT):
        decided = system.process().approve(approval.approval_id, approver)

    assert (decided.status, decided.decided_by, decided.is_applied) == (APPROVED, "bob", True)
    assert system.balance_fen("user") == 2_000
    # A retry of the request gets the same answer as if no approval had been needed.
    assert _deposit(system, 2_000, "key") is None
    assert system.balance_fen("user") == 2_000
    assert system.differences() == []
    # The amount was approved, so it does not count as moved by one operator alone.
    assert _deposit(system, LIMIT_FEN, "small") is None


def test_two_concurrent_approvals_apply_a_change_once(system: InMemorySystem) -> None:
    approval = _asked(_deposit(system, 2_000, "key"))
    with (
        patch.object(DynamoApprovals, "decide", return_value=False),
        pytest.raises(errors.Contended),
    ):
        system.process().approve(approval.approval_id, BOB)

    system.before_first_transaction(lambda _: system.process().approve(approval.approval_id, CAT))
    system.process().approve(approval.approval_id, BOB)

    assert system.balance_fen("user") == 2_000
    actions, _ = system.actions.list_actions("user:user", None, 100)
    kinds = [noted.action.kind for noted in actions]
    assert sorted(kinds) == ["approval_asked", "approval_decided", "deposit"]


def test_the_requester_and_the_payee_cannot_decide(system: InMemorySystem) -> None:
    approval, process = _asked(_deposit(system, 2_000, "key")), system.process()

    for decide in (process.approve, process.reject):
        for who in ("ann", "user"):
            with pytest.raises(FourEyesNeeded):
                decide(approval.approval_id, an_operator(who))

    assert _asked(process.approvals.find_approval(approval.approval_id)).status is AWAITING
    assert system.balance_fen("user") == 0


def test_rejected_and_expired_requests_are_not_applied(system: InMemorySystem) -> None:
    rejected = _asked(_deposit(system, 2_000, "rejected"))
    old = _asked(_deposit(system, 2_000, "old"))
    process = system.process()
    process.reject(rejected.approval_id, BOB)
    assert process.reject(rejected.approval_id, CAT).decided_by == "bob"
    system.clock.sleep_ms(LIFE_MS)

    for approval in (rejected, old):
        with pytest.raises(errors.VersionConflict):
            process.approve(approval.approval_id, BOB)
    with pytest.raises(ApprovalNotFound):
        process.approve("0" * 32, BOB)

    assert system.balance_fen("user") == 0
    # A retry with the same idempotency key gets the same result.
    assert _asked(_deposit(system, 2_000, "rejected")).status is ApprovalStatus.REJECTED
    again = _asked(_deposit(system, 2_000, "old"))
    assert again.status_at(system.clock.now_ms()) is ApprovalStatus.EXPIRED


def test_an_interrupted_approval_is_applied_by_the_next_one(system: InMemorySystem) -> None:
    approval = _asked(_deposit(system, 2_000, "key"))
    calls: list[int] = []

    def second_fails(_operations: Any) -> None:
        calls.append(1)
        if len(calls) == 2:
            raise errors.Unavailable("killed")

    system.before_each_transaction(second_fails)
    with pytest.raises(errors.Unavailable):
        system.process().approve(approval.approval_id, BOB)
    assert system.balance_fen("user") == 0

    system.process().approve(approval.approval_id, CAT)

    assert system.balance_fen("user") == 2_000
    stored = _asked(system.process().approvals.find_approval(approval.approval_id))
    assert (stored.decided_by, stored.is_applied) == ("bob", True)


def test_a_repeat_that_is_overtaken_returns_the_applied_result(system: InMemorySystem) -> None:
    approval = _asked(_deposit(system, 2_000, "key"))
    process, note_repeat = system.process(), DynamoApprovals.note_repeat

    def overtaken(approvals: DynamoApprovals, decided: Approval) -> bool:
        with patch.object(DynamoApprovals, "note_repeat", note_repeat):
            system.process().approve(approval.approval_id, CAT)
        return note_repeat(approvals, decided)

    with patch.object(process.approvals, "mark_applied"):
        process.approve(approval.approval_id, BOB)
    with patch.object(DynamoApprovals, "note_repeat", overtaken):
        applied = system.process().approve(approval.approval_id, CAT)

    assert (applied.approval_id, applied.is_applied) == (approval.approval_id, True)
    assert system.balance_fen("user") == 2_000


def test_an_approved_deposit_is_for_campaigns_if_the_request_said_so(
    system: InMemorySystem,
) -> None:
    request = Request("ann", "key", "body")
    requested = DepositAsked("user", 2_000, "key", "body", is_for_campaigns=True)
    approval = _waits(
        system,
        lambda: system.process().deposit(a_person("user"), 2_000, request, is_for_campaigns=True),
        lambda _: requested,
        payee=a_person("user"),
    )
    assert "is_for_campaigns" in [change.field for change in _asked(approval).changes]

    system.process().approve(_asked(approval).approval_id, BOB)

    with pytest.raises(errors.Forbidden):
        system.send_order(an_order("user"))
    assert system.balance_fen("user") == 2_000


@pytest.mark.parametrize("is_spent", [False, True])
def test_a_move_of_campaign_money_waits_and_moves_the_shown_amount(
    system: InMemorySystem, *, is_spent: bool
) -> None:
    process, request = system.process(), Request("ann", "move", "body")
    for user, amount_fen in (("chest", 900), ("chest", 1_000), ("till", 100)):
        marking = Request(f"treasurer-{amount_fen}", user, "body")
        system.deposit_for_campaigns(user, amount_fen, marking)
    approval = _waits(
        system,
        lambda: process.move_campaign_money(a_person("chest"), a_person("till"), "over", request),
        lambda shown: CampaignMoneyAsked("chest", "till", "over", "move", "body", shown.amount_fen),
        payee=a_person("till"),
    )
    asked = _asked(approval)
    assert (asked.amount_fen, asked.payee_id, asked.version) == (1_900, "till", None)
    with pytest.raises(FourEyesNeeded):
        process.approve(asked.approval_id, an_operator("till"))
    if is_spent:
        campaign = a_campaign()
        assert system.campaigns.create(campaign)
        system.send_order(an_order("chest", campaign=campaign, total_fen=50, count=1))
        with pytest.raises(InsufficientFunds):
            process.approve(asked.approval_id, BOB)
    else:
        process.deposit(a_person("chest"), 30, Request("cat", "more", "body"))
        process.approve(asked.approval_id, BOB)
        process.approve(asked.approval_id, CAT)

    balances = [system.balance_fen(user) for user in ("chest", "till")]
    assert balances == ([1_850, 100] if is_spent else [30, 2_000])
    assert system.differences() == []


def test_deposits_and_moves_to_one_account_share_a_limit(system: InMemorySystem) -> None:
    process = system.process()
    for user in ("chest", "till"):
        marking = Request("treasurer", user, "body")
        system.deposit_for_campaigns(user, 600, marking)
    assert _deposit(system, 500, "own", user="till") is None

    with pytest.raises(ApprovalNeededError):
        process.move_campaign_money(
            a_person("chest"), a_person("till"), "over", Request("ann", "move", "body")
        )

    assert system.balance_fen("till") == 1_100


# ---------------------------------------------------------------- budgets and cash


def test_a_budget_waits_and_is_applied_with_the_shown_version(
    system: InMemorySystem,
) -> None:
    assert _budget(system, LIMIT_FEN) is None
    raised = _asked(_budget(system, 5_000))
    assert raised.amount_fen == 4_000
    assert _budget(system, 5_000) == raised
    shown = approval_view(raised, {}, raised.asked_at_ms)
    assert (shown["version"], shown["status"]) == (1, "awaiting")
    assert shown["asked_by"] == {"id": raised.operator_id, "user": "ann@host", "name": None}
    asks = "asks to edit campaign gala, which affects ¥40.00"
    assert shown["summary"] == f"ann@host {asks}"

    applied = system.process().approve(raised.approval_id, BOB)

    assert applied.is_applied
    assert _found_fen(system) == 5_000
    # A lower budget needs no second operator.
    assert _budget(system, 10) is None


def test_a_new_campaign_with_a_large_budget_waits_as_a_whole(system: InMemorySystem) -> None:
    approval = _asked(_budget(system, 5_000))
    assert _found_fen(system) is None

    system.process().approve(approval.approval_id, BOB)
    system.process().approve(approval.approval_id, BOB)

    campaign = system.campaigns.find_campaign("gala")
    assert campaign
    assert (campaign.budget_fen, campaign.version, campaign.title) == (5_000, 1, "new")


def test_a_version_that_no_longer_exists_is_not_applied(system: InMemorySystem) -> None:
    assert _budget(system, 100) is None
    approval = _asked(_budget(system, 5_000))
    assert _budget(system, 200) is None

    with pytest.raises(errors.VersionConflict):
        system.process().approve(approval.approval_id, BOB)

    assert _found_fen(system) == 200
    stored = _asked(system.process().approvals.find_approval(approval.approval_id))
    assert (stored.status, stored.refusal) == (ApprovalStatus.REJECTED, "version_conflict")
    with pytest.raises(errors.VersionConflict):
        system.process().approve(approval.approval_id, CAT)
    # The change can be requested again for the current version.
    assert _asked(_budget(system, 5_000)).approval_id != approval.approval_id


def test_a_rejected_put_can_be_requested_again(system: InMemorySystem) -> None:
    first = _asked(_budget(system, 5_000))
    system.process().reject(first.approval_id, BOB)

    second = _asked(_budget(system, 5_000))

    assert second.approval_id != first.approval_id
    system.process().approve(second.approval_id, BOB)
    assert _found_fen(system) == 5_000


def test_small_steps_of_a_budget_up_and_down_are_summed(system: InMemorySystem) -> None:
    assert _budget(system, 600) is None
    assert _budget(system, 100) is None

    assert _budget(system, 700) is not None
    assert _budget(system, 500) is None
    assert _budget(system, 501) is not None


def _cash(system: InMemorySystem, total: int, prize_id: str = "cash") -> Approval | None:
    plan = a_prize("gala", prize_id, kind=PrizeKind.PACKET, amount_fen=100, total=total)
    return _waits(
        system,
        lambda: system.process().apply_prize(plan, None, ANN),
        lambda shown: PrizeAsked(plan, shown.version, shown.amount_fen),
    )


def _stock(system: InMemorySystem, delta: int, key: str) -> Approval | None:
    request = Request("ann", key, str(delta))
    hashes = request.key_hash, request.body_hash
    return _waits(
        system,
        lambda: system.process().apply_stock("gala", "cash", delta, None, ANN, request),
        lambda shown: StockAsked("gala", "cash", delta, shown.version, *hashes, shown.amount_fen),
    )


@pytest.fixture
def lottery(system: InMemorySystem) -> InMemorySystem:
    # The campaign starts later, because large sums of cash are usually added before the start.
    starts_at_ms = system.clock.now_ms() + 60_000
    assert system.campaigns.create(a_campaign(campaign_id="gala", starts_at_ms=starts_at_ms))
    system.approval_fen = 10**6
    system.deposit("ann", 10**6)
    system.approval_fen = LIMIT_FEN
    return system


def _total(system: InMemorySystem) -> int:
    return sum(prize.total for prize in system.prizes.list_prizes("gala"))


def test_an_approver_of_the_first_cash_sees_that_users_may_have_drawn_before(
    lottery: InMemorySystem,
) -> None:
    early = _asked(_cash(lottery, 20, "early"))
    lottery.pass_time(60_000)

    late = _asked(_cash(lottery, 20, "late"))
    lottery.process().approve(late.approval_id, BOB)

    drawn = [approval_summary(each, {}).partition("; ")[2] for each in (early, late)]
    assert drawn == ["", "users may have drawn before"]
    assert _total(lottery) == 20


def test_cash_waits_before_any_money_moves(lottery: InMemorySystem) -> None:
    approval = _asked(_cash(lottery, 11))
    assert (approval.amount_fen, _total(lottery)) == (1_100, 0)
    assert lottery.balance_fen("ann") == 10**6

    for approver in (BOB, CAT):
        lottery.process().approve(approval.approval_id, approver)

    assert _total(lottery) == 11
    assert lottery.balance_fen("ann") == 10**6 - 1_100
    assert lottery.differences() == []


def test_stock_of_cash_is_summed_with_the_prize_and_applied_once(lottery: InMemorySystem) -> None:
    assert _cash(lottery, 9) is None
    assert _stock(lottery, 1, "one") is None
    approval = _asked(_stock(lottery, 1, "more"))
    assert _stock(lottery, 1, "more") == approval
    # Removing a unit and adding it back costs nothing, so neither change needs an approval.
    assert _stock(lottery, -1, "less") is None
    assert _stock(lottery, 1, "back") is None
    stale = approval.approval_id
    with pytest.raises(errors.VersionConflict):
        lottery.process().approve(stale, BOB)

    fresh = _asked(_stock(lottery, 1, "again"))
    for approver in (BOB, CAT):
        lottery.process().approve(fresh.approval_id, approver)

    assert _total(lottery) == 11
    assert _stock(lottery, 1, "again") is None
    assert _total(lottery) == 11
    assert lottery.differences() == []


def test_concurrent_cash_prizes_of_one_operator_are_both_funded(lottery: InMemorySystem) -> None:
    done = _both_at_once(lottery, lambda: _cash(lottery, 1, "other"), lambda: _cash(lottery, 2))

    assert done == [True, True]
    assert lottery.balance_fen("ann") == 10**6 - 300
    assert lottery.differences() == []


def _before_funding(system: InMemorySystem, do: Callable[[], object]) -> None:
    """Run *do* to completion, once, just before the next transaction that moves money."""
    pending = [do]

    def interpose(operations: list[Any]) -> None:
        tables = {str(next(iter(each.values())).get("TableName")) for each in operations}
        if pending and "accounts" in tables:
            pending.pop()()

    system.before_each_transaction(interpose)


def test_stock_added_by_a_second_click_is_listed_as_applied(lottery: InMemorySystem) -> None:
    assert _cash(lottery, 9) is None
    approval = _asked(_stock(lottery, 20, "more"))
    twin: list[Approval] = []

    _before_funding(
        lottery, lambda: twin.append(lottery.process().approve(approval.approval_id, BOB))
    )
    mine = lottery.process().approve(approval.approval_id, BOB)

    assert [mine.is_applied, twin[0].is_applied] == [True, True]
    stored = _asked(lottery.process().approvals.find_approval(approval.approval_id))
    assert (stored.status, stored.is_applied, stored.refusal) == (APPROVED, True, None)
    assert _total(lottery) == 29
    assert lottery.balance_fen("ann") == 10**6 - 2_900
    assert lottery.differences() == []


@pytest.mark.parametrize("version", [None, 1], ids=["any version", "of a version"])
def test_concurrent_repeats_of_a_stock_change_get_one_answer(
    lottery: InMemorySystem, version: int | None
) -> None:
    assert _cash(lottery, 1) is None
    request = Request("ann", "key", "body")

    def change() -> Any:
        return lottery.process().apply_stock("gala", "cash", 9, version, ANN, request)[0]

    answers: list[Any] = []
    _before_funding(lottery, lambda: answers.append(change()))
    answers += [change(), change()]

    assert [prize.total for prize in answers] == [10, 10, 10]
    assert lottery.balance_fen("ann") == 10**6 - 1_000


def test_an_edit_after_a_second_click_leaves_the_applied_change_approved(
    lottery: InMemorySystem,
) -> None:
    approval = _asked(_cash(lottery, 11))
    edited = a_prize("gala", "cash", kind=PrizeKind.PACKET, amount_fen=100, total=11, title="new")

    def approve_and_edit() -> None:
        assert lottery.process().approve(approval.approval_id, CAT).is_applied
        lottery.process().apply_prize(edited, 1, CAT)

    _before_funding(lottery, approve_and_edit)
    mine = lottery.process().approve(approval.approval_id, BOB)

    assert (mine.status, mine.is_applied, mine.refusal) == (APPROVED, True, None)
    assert lottery.balance_fen("ann") == 10**6 - 1_100


def test_a_change_applied_by_a_crashed_second_click_is_never_shown_as_rejected(
    lottery: InMemorySystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    approval = _asked(_cash(lottery, 11))
    edited = a_prize("gala", "cash", kind=PrizeKind.PACKET, amount_fen=100, total=11, title="new")

    def die(*_: object) -> None:
        raise InterruptedError

    def approve_die_and_edit() -> None:
        with monkeypatch.context() as patch:
            patch.setattr(DynamoApprovals, "mark_applied", die)
            with pytest.raises(InterruptedError):
                lottery.process().approve(approval.approval_id, CAT)
        lottery.process().apply_prize(edited, 1, CAT)

    _before_funding(lottery, approve_die_and_edit)
    with suppress(errors.Rejected):
        lottery.process().approve(approval.approval_id, BOB)

    stored = _asked(lottery.process().approvals.find_approval(approval.approval_id))
    assert (stored.status, stored.refusal) == (APPROVED, None)
    assert lottery.balance_fen("ann") == 10**6 - 1_100


@pytest.mark.parametrize("is_refused_first", [False, True])
def test_an_applied_change_is_never_shown_as_rejected(
    system: InMemorySystem, *, is_refused_first: bool
) -> None:
    approval = _asked(_deposit(system, 2_000, "key"))
    decided = replace(approval, status=APPROVED, decider=a_person("bob"), decided_at_ms=1)
    approvals = system.process().approvals
    action = Action(a_person("bob"), ActionKind.APPROVAL_DECIDED, approval.subject, 1, ())
    assert approvals.decide(decided, action)
    applied = replace(decided, is_applied=True)

    # One call may record the approval as applied after another call has recorded a refusal.
    if is_refused_first:
        approvals.mark_refused(decided, "version_conflict")
        refused = _asked(approvals.find_approval(approval.approval_id))
        assert (refused.status, refused.refusal) == (ApprovalStatus.REJECTED, "version_conflict")
    approvals.mark_applied(applied)
    approvals.mark_refused(decided, "version_conflict")

    assert approvals.find_approval(approval.approval_id) == applied


def test_a_repeat_begins_only_before_a_refusal(system: InMemorySystem) -> None:
    approval = _asked(_deposit(system, 2_000, "key"))
    approvals = system.process().approvals
    action = Action(a_person("bob"), ActionKind.APPROVAL_DECIDED, approval.subject, 1, ())
    decided = replace(approval, status=APPROVED, decider=a_person("bob"), decided_at_ms=1)
    assert approvals.decide(decided, action)
    approvals.mark_refused(decided, "insufficient_funds")

    assert not approvals.note_repeat(decided)
    with pytest.raises(errors.VersionConflict):
        system.process().approve(approval.approval_id, CAT)

    assert system.balance_fen("user") == 0


def test_a_decision_creates_no_approval(system: InMemorySystem) -> None:
    approval = _asked(_deposit(system, 2_000, "key"))
    approvals = system.process().approvals
    action = Action(a_person("bob"), ActionKind.APPROVAL_DECIDED, approval.subject, 1, ())
    unasked = replace(approval, approval_id="0" * 32, status=APPROVED, decider=a_person("bob"))

    assert not approvals.decide(unasked, action)
    assert approvals.find_approval(unasked.approval_id) is None


def test_a_change_that_an_operator_rejected_is_not_marked_as_applied(
    system: InMemorySystem,
) -> None:
    approval = _asked(_deposit(system, 2_000, "key"))
    rejected = system.process().reject(approval.approval_id, BOB)

    system.process().approvals.mark_applied(rejected)

    assert system.process().approvals.find_approval(approval.approval_id) == rejected


@pytest.mark.parametrize("mine", ["prize", "stock"])
@pytest.mark.parametrize("other", ["prize", "stock"])
def test_money_that_waits_for_approval_has_not_moved(
    lottery: InMemorySystem, mine: str, other: str
) -> None:
    assert _cash(lottery, 1) is None
    changes = {
        "prize": lambda name: _cash(lottery, 6, name),
        "stock": lambda name: _stock(lottery, 6, name),
    }
    approvals: list[Approval | None] = []
    calls: list[int] = []

    def interpose(_operations: list[Any]) -> None:
        calls.append(1)
        if len(calls) == 1:
            approvals.append(changes[other]("other"))

    lottery.before_each_transaction(interpose)
    approvals.append(changes[mine]("mine"))

    # The existing units are funded, and no other money has moved.
    assert sorted(approval is None for approval in approvals) == [False, True]
    assert _total(lottery) == 7
    assert lottery.balance_fen("ann") == 10**6 - 700
    assert lottery.differences() == []


def test_a_concurrent_repeat_of_a_prize_needs_one_allowance(lottery: InMemorySystem) -> None:
    approval_policy = lottery.process().approval_policy
    plan = a_prize("gala", "cash", kind=PrizeKind.PACKET, amount_fen=100, total=10)
    twin: list[Approval | None] = []

    class Meeting:
        def find_allowance(self, operator_id: str, subject: str) -> Allowance:
            twin.append(_cash(lottery, 10))
            return approval_policy.allowances.find_allowance(operator_id, subject)

        def find_moved_fen(self, owner: str, periods: Sequence[int]) -> dict[int, int]:
            return approval_policy.allowances.find_moved_fen(owner, periods)

    process = lottery.process(approval_policy=replace(approval_policy, allowances=Meeting()))
    prize, _, is_new = process.apply_prize(plan, None, ANN)

    assert (twin, prize.total, is_new) == ([None], 10, False)
    assert lottery.balance_fen("ann") == 10**6 - LIMIT_FEN


def test_a_change_that_cannot_be_paid_for_is_rejected_with_its_reason(
    lottery: InMemorySystem,
) -> None:
    approval = _asked(_cash(lottery, 100_000))

    with pytest.raises(InsufficientFunds):
        lottery.process().approve(approval.approval_id, BOB)

    stored = _asked(lottery.process().approvals.find_approval(approval.approval_id))
    assert (stored.status, stored.refusal) == (ApprovalStatus.REJECTED, "insufficient_funds")
    assert _total(lottery) == 0


def test_goods_need_one_operator(lottery: InMemorySystem) -> None:
    lottery.approval_fen = 0

    lottery.process().apply_prize(a_prize("gala", "cup", total=10**6), None, ANN)

    assert _total(lottery) == 10**6


# ---------------------------------------------------------------- the list


def test_approvals_are_listed_newest_first_with_their_changes(system: InMemorySystem) -> None:
    for number in range(5):
        _deposit(system, 2_000 + number, f"key-{number}")
        system.clock.sleep_ms(1)
    listed: Callable[..., Any] = system.process().approvals.list_approvals

    first, cursor = listed(None, 2)
    second, cursor = listed(cursor, 2)
    last, end = listed(cursor, 2)

    assert [each.amount_fen for each in [*first, *second, *last]] == [2004, 2003, 2002, 2001, 2000]
    assert end is None
    assert [change.after for change in first[0].changes][1:] == ["2004"]
    # The operator's host id stays in the row; the user's is only in the erasable profile.
    assert {"ann", "user"} <= system.host_ids().keys()
    assert {each.operator.host_id for each in first} == {"ann@host"}
    assert "user@host" not in str(system.dynamo.tables["approvals"]._rows)


def test_a_decision_names_both_operators_after_their_erasure(system: InMemorySystem) -> None:
    approval = _asked(_deposit(system, 2_000, "key"))
    decided = system.process().approve(approval.approval_id, BOB)

    page, _ = system.process().approvals.list_approvals(None, 1)
    shown = approval_view(page[0], {}, decided.asked_at_ms)

    assert (shown["asked_by"]["user"], shown["decided_by_user"]) == ("ann@host", "bob@host")
    assert shown["summary"] == "ann@host asks to deposit ¥20.00 for user"
    actions = DynamoActions(Dynamo(lambda: system.dynamo, TABLE_NAMES))
    done, _ = actions.list_actions(None, None, 10)
    assert {noted.action.operator.host_id for noted in done} == {"ann@host", "bob@host"}


def test_a_request_is_read_as_it_was_written(lottery: InMemorySystem) -> None:
    deposit = _asked(_deposit(lottery, 2_000, "key"))
    budget = _asked(_budget(lottery, 10**6))
    cash = _asked(_cash(lottery, 11))
    assert _cash(lottery, 1) is None
    stock = _asked(_stock(lottery, 50, "key"))

    for approval in (deposit, budget, cash, stock):
        stored = lottery.process().approvals.find_approval(approval.approval_id)
        assert stored == approval
