"""Operators' lists of returns that need a decision, and of users with debts."""

from redpacket.payments.model.payments import ReturnReason, ReturnStatus
from redpacket.payments.use_cases.return_payment import collect_owed, list_debts
from testing.payments.payment_system import PaymentSystem


def _debts(
    town: PaymentSystem, cursor: str | None = None, limit: int = 10
) -> list[tuple[str, int]]:
    debts, _ = list_debts(cursor, limit, lists=town.lists, ledger=town.system.ledger)
    return [(refund.user_id, debt_fen) for refund, debt_fen in debts]


def _refund(town: PaymentSystem, user_id: str, spent_fen: int) -> None:
    """Refund 100 fen manually, after the user has spent *spent_fen* of them."""
    payment = town.pay_in(user_id, 100)
    if spent_fen:
        town.withdraw(user_id, spent_fen)
    town.refund(payment, 100)


def test_a_debt_is_listed_until_it_is_collected(town: PaymentSystem) -> None:
    _refund(town, "early", 60)
    town.system.pass_time(1_000)
    _refund(town, "late", 40)
    _refund(town, "honest", 0)
    before = _debts(town)
    town.system.deposit("late", 30)
    collect_owed("late", ports=town.payments)
    less = _debts(town)
    town.system.deposit("late", 30)
    collect_owed("late", ports=town.payments)

    assert before == [("late", 40), ("early", 60)]
    assert less == [("late", 10), ("early", 60)]
    assert _debts(town) == [("early", 60)]


def test_a_debt_of_one_fen_is_listed(town: PaymentSystem) -> None:
    _refund(town, "user", 10)
    town.system.deposit("user", 9)
    collect_owed("user", ports=town.payments)

    assert _debts(town) == [("user", 1)]


def test_a_refund_is_a_debt_in_full_once_the_user_has_spent_everything(
    town: PaymentSystem,
) -> None:
    _refund(town, "user", 100)

    assert _debts(town) == [("user", 100)]
    assert town.balance_fen("user") == 0


def test_a_page_of_debts_starts_where_the_last_one_ended(town: PaymentSystem) -> None:
    for name in ("a", "b", "c"):
        _refund(town, name, 50)
        town.system.pass_time(1_000)

    first, cursor = list_debts(None, 2, lists=town.lists, ledger=town.system.ledger)
    rest, end = list_debts(cursor, 2, lists=town.lists, ledger=town.system.ledger)

    assert [refund.user_id for refund, _ in first + rest] == ["c", "b", "a"]
    assert end is None


def test_a_transaction_that_differs_from_its_order_waits_for_an_operator(
    town: PaymentSystem,
) -> None:
    payment = town.start("user", 100)
    town.gateway.pay(payment.number, amount_fen=99)
    town.confirm(payment)

    (listed,), more = town.lists.list_listed_returns(None, 10)

    assert (listed.number, listed.amount_fen, more) == (payment.number, 99, None)
    assert (listed.status, listed.reason) == (ReturnStatus.LISTED, ReturnReason.MISMATCHED)


def test_a_return_that_the_gateway_refuses_waits_for_an_operator(town: PaymentSystem) -> None:
    payment = town.pay_in("user", 100)
    town.pay_again(payment)
    (due,) = town.returns.list_returns(payment.number)
    before, _ = town.lists.list_listed_returns(None, 10)

    town.returns.list_return(due)

    after, _ = town.lists.list_listed_returns(None, 10)
    assert before == []
    assert [payment_return.transaction_id for payment_return in after] == [due.transaction_id]
