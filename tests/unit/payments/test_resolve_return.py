"""Listed returns: each leaves the list after an operator settles it by one transfer."""

import itertools

import pytest

from redpacket.operations.dynamodb.audit_log import DynamoActions
from redpacket.operations.model.allowances import ApprovalLimits
from redpacket.operations.model.operators import ActionKind
from redpacket.payments.errors import PaymentNotFound
from redpacket.payments.model.payments import PaymentReturn, Resolution, ResolvedBy, ReturnStatus
from redpacket.payments.use_cases import return_payment
from redpacket.payments.use_cases.return_payment import note_refund
from redpacket.platform.dynamodb.client import Dynamo
from redpacket.platform.errors import (
    Forbidden,
    IdempotencyKeyReused,
    InvalidRequest,
    InvariantViolated,
    VersionConflict,
)
from redpacket.platform.idempotency import Request, hash_of_key
from redpacket.platform.user import User
from redpacket.reconciliation.use_cases.statements import MOVING_MS
from testing.payments.payment_system import WECHAT, PaymentSystem
from testing.platform.fake_tables import TABLE_NAMES

DEPOSIT, OUTSIDE = ResolvedBy.DEPOSIT, ResolvedBy.OUTSIDE

_keys = itertools.count(1)


@pytest.fixture
def town() -> PaymentSystem:
    return PaymentSystem()


def _listed(town: PaymentSystem) -> PaymentReturn:
    """Return a second transaction whose refund the provider refuses."""
    payment = town.pay_in("user", 900)
    town.pay_again(payment)
    (returned,) = town.returns.list_returns(payment.number)
    town.returns.list_return(returned)
    return _now(town, returned)


def _now(town: PaymentSystem, returned: PaymentReturn) -> PaymentReturn:
    payment_return = town.returns.find_return(returned.number, returned.transaction_id)
    assert payment_return
    return payment_return


def _deposit(
    town: PaymentSystem,
    returned: PaymentReturn | None = None,
    user: str = "user",
    fen: int = 900,
    operator: str = "ann",
) -> str:
    """Make a deposit that settles *returned*, or one without a case if it is None."""
    request = Request(operator, hash_of_key(f"key-{next(_keys)}"), str(fen))
    case = returned.transaction_id if returned else None
    return town.system.process().deposit(User(user), fen, request, case=case)[0]


def _refund(town: PaymentSystem, returned: PaymentReturn, fen: int) -> None:
    """Refund the second transaction in the provider's console, which sends a callback."""
    second = town.gateway.orders[returned.number].transactions[1]
    note_refund(WECHAT, town.gateway.refund_paid(second, fen), ports=town.payments)


def _resolve(
    town: PaymentSystem, returned: PaymentReturn, reference: str, by: ResolvedBy = DEPOSIT
) -> PaymentReturn:
    resolution = Resolution(
        returned.number, returned.transaction_id, by, reference, "paid after the close"
    )
    return town.resolve(resolution)


@pytest.mark.parametrize("by", [DEPOSIT, OUTSIDE])
def test_a_listed_return_is_resolved_once_and_noted(town: PaymentSystem, by: ResolvedBy) -> None:
    returned = _listed(town)
    reference = _deposit(town, returned) if by is DEPOSIT else "bank-transfer-77"

    resolved = [_resolve(town, returned, reference, by) for _ in range(2)]

    assert {(payment_return.status, payment_return.reference) for payment_return in resolved} == {
        (ReturnStatus.RESOLVED, reference)
    }
    assert _now(town, returned) == resolved[0]
    assert town.lists.list_listed_returns(None, 10) == ([], None)
    audit_log = DynamoActions(Dynamo(lambda: town.system.dynamo, TABLE_NAMES))
    noted, _ = audit_log.list_actions("user:user", None, 10)
    (action,) = [
        logged_action.action
        for logged_action in noted
        if logged_action.action.kind is ActionKind.RETURN_RESOLVED
    ]
    changes = {change.field: change.after for change in action.changes}
    assert (changes["reference"], changes["amount_fen"], changes["by"]) == (reference, "900", by)
    assert changes["reason"] == "paid after the close"
    town.system.pass_time(MOVING_MS + 1)
    assert town.system.reconcile().differences == []
    assert town.differences(bound_ms=1) == []


def test_a_deposit_is_found_behind_a_page_of_later_entries(
    town: PaymentSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(return_payment, "_ENTRIES_AT_ONCE", 1)
    returned = _listed(town)
    reference = _deposit(town, returned)
    for _ in range(2):
        town.system.pass_time(1_000)
        _deposit(town)

    assert _resolve(town, returned, reference).status is ReturnStatus.RESOLVED


def test_a_deposit_must_name_the_return(town: PaymentSystem) -> None:
    """A deposit of the same amount for another reason settles nothing."""
    returned, other = _listed(town), _listed(town)
    for reference in (_deposit(town), _deposit(town, other)):
        with pytest.raises(InvalidRequest, match="whose case is the transaction_id"):
            _resolve(town, returned, reference)

    assert _now(town, returned).status is ReturnStatus.LISTED
    _resolve(town, returned, _deposit(town, returned))


def test_two_operators_on_one_case_credit_its_user_once(town: PaymentSystem) -> None:
    returned = _listed(town)
    before_fen = town.balance_fen()

    deposits = [_deposit(town, returned, operator=name) for name in ("ann", "bob", "ann")]
    with pytest.raises(IdempotencyKeyReused):
        _deposit(town, returned, fen=901, operator="cat")
    # The resolution does not depend on who made the deposit.
    _resolve(town, returned, "")

    assert len(set(deposits)) == 1
    assert town.balance_fen() == before_fen + 900
    town.system.pass_time(MOVING_MS + 1)
    assert town.system.reconcile().differences == []


@pytest.mark.parametrize(("user", "fen"), [("other", 900), ("user", 899), ("user", 901)])
def test_a_deposit_must_equal_the_amount_that_its_user_is_owed(
    town: PaymentSystem, user: str, fen: int
) -> None:
    returned = _listed(town)

    with pytest.raises(InvalidRequest):
        _resolve(town, returned, _deposit(town, returned, user, fen))

    assert _now(town, returned).status is ReturnStatus.LISTED


def test_a_deposit_must_follow_the_note_of_the_return(town: PaymentSystem) -> None:
    payment = town.pay_in("user", 900)
    second = town.gateway.pay(payment.number, is_forced=True)
    assert second
    request = Request("ann", hash_of_key("key"), "900")
    process = town.system.process()
    early, _ = process.deposit(User("user"), 900, request, case=second.transaction_id)
    town.system.pass_time(1)
    town.confirm(payment, second.transaction_id)
    (returned,) = town.returns.list_returns(payment.number)
    town.returns.list_return(returned)

    with pytest.raises(InvalidRequest):
        _resolve(town, returned, early)


def test_a_deposit_of_the_amount_left_by_a_refund_resolves_a_return(town: PaymentSystem) -> None:
    returned = _listed(town)
    _refund(town, returned, 300)

    with pytest.raises(InvalidRequest):
        _resolve(town, returned, _deposit(town, returned, fen=900))
    other = _listed(town)
    _refund(town, other, 300)
    _resolve(town, other, _deposit(town, other, fen=600))


@pytest.mark.parametrize("by", [DEPOSIT, OUTSIDE])
def test_one_transfer_resolves_one_return(town: PaymentSystem, by: ResolvedBy) -> None:
    first, second = _listed(town), _listed(town)
    reference = _deposit(town, first) if by is DEPOSIT else "bank-transfer-77"
    _resolve(town, first, reference, by)

    with pytest.raises(InvalidRequest if by is DEPOSIT else VersionConflict):
        _resolve(town, second, reference, by)

    assert _now(town, second).status is ReturnStatus.LISTED
    with pytest.raises(VersionConflict):
        _resolve(town, first, "another", OUTSIDE)


def test_a_due_or_missing_return_is_not_resolved(town: PaymentSystem) -> None:
    payment = town.pay_in("user", 900)
    town.pay_again(payment)
    (returned,) = town.returns.list_returns(payment.number)

    with pytest.raises(VersionConflict, match="not listed"):
        _resolve(town, returned, "bank-transfer-77", OUTSIDE)
    for number, transaction_id in ((payment.number, "nobodys"), ("nobodys", "nobodys")):
        resolution = Resolution(number, transaction_id, OUTSIDE, "bank-transfer-77", "")
        with pytest.raises(PaymentNotFound):
            town.resolve(resolution)


def test_a_refund_at_the_gateway_of_a_resolved_return_is_reported(town: PaymentSystem) -> None:
    returned = _listed(town)
    _resolve(town, returned, _deposit(town, returned))

    with pytest.raises(InvariantViolated):
        _refund(town, returned, 900)


def test_a_case_is_settled_either_by_a_deposit_or_outside(town: PaymentSystem) -> None:
    returned = _listed(town)
    _resolve(town, returned, "bank-1", OUTSIDE)
    with pytest.raises(IdempotencyKeyReused):
        _deposit(town, returned)

    other = _listed(town)
    _deposit(town, other)
    with pytest.raises(VersionConflict):
        _resolve(town, other, "bank-2", OUTSIDE)


def test_one_operator_settles_outside_only_up_to_their_limit(town: PaymentSystem) -> None:
    """Nothing proves a transfer outside the system, so this resolution counts like a deposit."""
    limits = ApprovalLimits(1_000, 10_000, 10_000)
    first, second = (
        Resolution(each.number, each.transaction_id, OUTSIDE, f"made-up-{each.transaction_id}", "")
        for each in (_listed(town), _listed(town))
    )
    town.resolve(first, limits=limits)

    with pytest.raises(Forbidden, match="transaction_id as its case"):
        town.resolve(second, limits=limits)

    assert town.resolve(second, "bob", limits).status is ReturnStatus.RESOLVED
