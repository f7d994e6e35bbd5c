import pytest

from redpacket.ledger.provider_name import ProviderName
from redpacket.payments.errors import CodeInvalid, OpenidInUse, PayeeNotBound
from redpacket.payments.model.provider import Payee
from redpacket.payments.use_cases.bind_account import bind_account
from redpacket.payments.use_cases.withdraw import WithdrawalAsk, withdraw
from redpacket.platform.idempotency import Request
from testing.payments.fake_gateway import FakeLogins, an_account
from testing.payments.payment_system import PaymentSystem

WECHAT = ProviderName.WECHAT
DAY_MS = 24 * 3_600_000
WAIT_MS = 3_600_000


@pytest.fixture
def logins() -> FakeLogins:
    return FakeLogins()


def bind(town: PaymentSystem, logins: FakeLogins, user_id: str, code: str) -> Payee:
    return bind_account(user_id, WECHAT, code, ports=town.login_ports(logins, WAIT_MS))


def test_a_user_is_bound_by_a_code(town: PaymentSystem, logins: FakeLogins) -> None:
    bound = bind(town, logins, "alice", "code-a")

    opens_at_ms = town.clock.now_ms() + WAIT_MS
    assert bound == town.accounts.find("alice", WECHAT) == Payee(an_account("a"), opens_at_ms)
    assert town.accounts.find("bob", WECHAT) is None
    assert town.accounts.find("alice", ProviderName.HOST) is None


def test_a_wrong_code_one_that_was_used_and_anothers_account_bind_nothing(
    town: PaymentSystem, logins: FakeLogins
) -> None:
    bound = bind(town, logins, "alice", "code-a")

    for code, error in (
        ("something", CodeInvalid),
        ("code-a", CodeInvalid),
        ("code-a#again", OpenidInUse),
    ):
        with pytest.raises(error):
            bind(town, logins, "bob", code)

    assert town.accounts.find("bob", WECHAT) is None
    assert town.accounts.find("alice", WECHAT) == bound


def test_after_a_rebinding_withdrawals_wait_for_a_day(
    town: PaymentSystem, logins: FakeLogins
) -> None:
    bind(town, logins, "alice", "code-a")
    town.system.deposit("alice", 500)
    town.system.pass_time(WAIT_MS)
    held = _withdraw(town, "first")
    town.system.pass_time(1_000)
    bind(town, logins, "alice", "code-b")
    bind(town, logins, "alice", "code-b#again")

    with pytest.raises(PayeeNotBound):
        _withdraw(town, "second")
    town.system.pass_time(DAY_MS)

    assert town.withdrawals.find(held)
    assert _withdraw(town, "second")
    assert town.balance_fen("alice") == 300


@pytest.mark.parametrize("is_funded_before", [True, False])
def test_withdrawals_wait_after_the_first_link_whenever_the_money_comes(
    town: PaymentSystem, logins: FakeLogins, *, is_funded_before: bool
) -> None:
    if is_funded_before:
        town.system.deposit("alice", 500)
    bound = bind(town, logins, "alice", "code-a")
    assert bound.opens_at_ms == town.clock.now_ms() + WAIT_MS
    if not is_funded_before:
        town.system.deposit("alice", 500)
    town.system.pass_time(WAIT_MS - 1)
    # Linking it again opens it no earlier, and no later.
    bind(town, logins, "alice", "code-a#again")

    with pytest.raises(PayeeNotBound, match="new"):
        _withdraw(town, "early")
    town.system.pass_time(1)

    assert _withdraw(town, "later")


def _withdraw(town: PaymentSystem, key: str) -> str:
    ask = WithdrawalAsk("alice", 100, WECHAT, Request("alice", key, "body"))
    made = withdraw(ask, payees=town.accounts, ports=town.transfers, payments=town.payments)
    return made.withdrawal_id
