import pytest

from redpacket.ledger.provider_name import ProviderName
from redpacket.operations.model.limits import PROVIDER_CALLS
from redpacket.operations.use_cases.limit_failures import SUBJECTS_MAX
from redpacket.payments.errors import CodeInvalid, OpenidInUse, PayeeNotBound
from redpacket.payments.model.provider import Payee
from redpacket.payments.use_cases.bind_account import bind_account, sign_in
from redpacket.payments.use_cases.withdraw import WithdrawalAsk, withdraw
from redpacket.platform.errors import RateLimited, Unavailable
from redpacket.platform.idempotency import Request
from testing.fakes import Away
from testing.payments.fake_gateway import FakeLogins, an_account
from testing.payments.payment_system import PaymentSystem

WECHAT = ProviderName.WECHAT
ALICE = "id-of-wechat|hash-alice"
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


def test_a_wrong_or_used_code_and_the_account_of_another_user_bind_nothing(
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
def test_withdrawals_wait_after_the_first_link_regardless_of_when_money_arrives(
    town: PaymentSystem, logins: FakeLogins, *, is_funded_before: bool
) -> None:
    if is_funded_before:
        town.system.deposit("alice", 500)
    bound = bind(town, logins, "alice", "code-a")
    assert bound.opens_at_ms == town.clock.now_ms() + WAIT_MS
    if not is_funded_before:
        town.system.deposit("alice", 500)
    town.system.pass_time(WAIT_MS - 1)
    # Linking the account again does not change when it can be used.
    bind(town, logins, "alice", "code-a#again")

    with pytest.raises(PayeeNotBound, match="new"):
        _withdraw(town, "early")
    town.system.pass_time(1)

    assert _withdraw(town, "later")


def _withdraw(town: PaymentSystem, key: str) -> str:
    ask = WithdrawalAsk("alice", 100, WECHAT, Request("alice", key, "body"))
    made = withdraw(ask, payees=town.accounts, ports=town.transfers, payments=town.payments)
    return made.withdrawal_id


def _sign_in(
    town: PaymentSystem,
    code: str = "code-alice",
    address: str = "",
    logins: FakeLogins | None = None,
) -> tuple[str, int]:
    return sign_in(
        code,
        WECHAT,
        lambda subject: f"id-of-{subject}",
        address=address,
        ports=town.login_ports(logins or FakeLogins()),
    )


def test_a_user_who_signs_in_gets_a_token_and_is_bound(town: PaymentSystem) -> None:
    token, expires_at_ms = _sign_in(town)

    bound = town.accounts.find(ALICE, WECHAT)
    assert token == "token-hash-alice"
    assert expires_at_ms == town.clock.now_ms() + 3_600_000
    assert bound
    assert (bound.account, bound.opens_at_ms) == (an_account("alice"), 0)


def test_a_wrong_code_gets_no_token(town: PaymentSystem) -> None:
    with pytest.raises(CodeInvalid):
        _sign_in(town, "something")


def _wrong_codes(town: PaymentSystem, address: str, count: int, logins: FakeLogins) -> set[str]:
    """Return the error codes after *count* invalid codes."""
    answers = set()
    for _ in range(count):
        with pytest.raises((CodeInvalid, RateLimited)) as refused:
            _sign_in(town, "garbage", address, logins)
        answers.add(refused.value.code)
    return answers


def test_invalid_codes_from_one_address_cost_few_calls_to_the_provider(
    town: PaymentSystem, logins: FakeLogins
) -> None:
    burst = PROVIDER_CALLS.burst

    assert _wrong_codes(town, "203.0.113.7", burst, logins) == {"code_invalid"}
    assert _wrong_codes(town, "203.0.113.7", 1_000, logins) == {"rate_limited"}
    assert logins.calls == burst
    # Other users can sign in; this address can do so later, with one call per refill.
    assert _sign_in(town, "code-bob", "203.0.113.8", logins)
    town.system.pass_time(PROVIDER_CALLS.interval_ms)
    assert _wrong_codes(town, "203.0.113.7", 1, logins) == {"code_invalid"}
    assert _wrong_codes(town, "203.0.113.7", 1, logins) == {"rate_limited"}


def test_many_users_behind_one_address_sign_in_without_a_limit(
    town: PaymentSystem, logins: FakeLogins
) -> None:
    for number in range(10 * PROVIDER_CALLS.burst):
        assert _sign_in(town, f"code-{number}", "203.0.113.7", logins)


def test_without_a_trusted_address_no_budget_is_shared(
    town: PaymentSystem, logins: FakeLogins
) -> None:
    assert _wrong_codes(town, "", 10 * PROVIDER_CALLS.burst, logins) == {"code_invalid"}


def test_invalid_codes_of_one_user_link_nothing_and_cost_few_calls(
    town: PaymentSystem, logins: FakeLogins
) -> None:
    for _ in range(PROVIDER_CALLS.burst):
        with pytest.raises(CodeInvalid):
            bind(town, logins, "mallory", "garbage")

    with pytest.raises(RateLimited) as refused:
        bind(town, logins, "mallory", "garbage")

    assert refused.value.retry_after_s == 10
    assert bind(town, logins, "alice", "code-a").account == an_account("a")


def test_a_flood_of_addresses_uses_bounded_memory(town: PaymentSystem) -> None:
    for number in range(SUBJECTS_MAX + 10):
        town.wrong_codes.spend(f"2001:db8:0:{number:x}::/64")

    assert len(vars(town.wrong_codes)["_refilled_at_ms"]) <= SUBJECTS_MAX


def test_an_account_bound_to_another_user_stays_theirs(town: PaymentSystem) -> None:
    town.accounts.bind("host's user", WECHAT, an_account("alice"), town.clock.now_ms())

    token, _ = _sign_in(town)

    theirs = town.accounts.find("host's user", WECHAT)
    assert token
    assert town.accounts.find(ALICE, WECHAT) is None
    assert theirs
    assert theirs.account == an_account("alice")


def test_signing_in_does_not_undo_the_choice_of_the_user(town: PaymentSystem) -> None:
    _sign_in(town)
    town.system.pass_time(1_000)
    chosen = town.accounts.bind(ALICE, WECHAT, an_account("other"), town.clock.now_ms())
    town.system.pass_time(1_000)

    _sign_in(town)

    assert town.accounts.find(ALICE, WECHAT) == chosen


def test_a_token_is_given_although_the_binding_must_wait(town: PaymentSystem) -> None:
    town.accounts = Away(error=Unavailable)  # type: ignore[assignment]

    token, _ = _sign_in(town)

    assert token
    assert [name for name, _ in town.system.logger.errors] == ["sign_in_not_bound"]
