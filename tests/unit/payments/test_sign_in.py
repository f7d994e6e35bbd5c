import pytest

from redpacket.ledger.provider_name import ProviderName
from redpacket.payments.errors import CodeInvalid
from redpacket.payments.use_cases.sign_in import sign_in
from redpacket.platform.errors import Unavailable
from testing.fakes import Away
from testing.payments.fake_gateway import FakeLogins, an_account
from testing.payments.payment_system import PaymentSystem

WECHAT = ProviderName.WECHAT
ALICE = "id-of-wechat|hash-alice"


def _sign_in(town: PaymentSystem, code: str = "code-alice") -> tuple[str, int]:
    return sign_in(
        code,
        WECHAT,
        lambda subject: f"id-of-{subject}",
        ports=town.login_ports(FakeLogins()),
    )


def test_who_signs_in_gets_a_token_and_is_bound(town: PaymentSystem) -> None:
    token, expires_at_ms = _sign_in(town)

    bound = town.accounts.find(ALICE, WECHAT)
    assert token == "token-hash-alice"
    assert expires_at_ms == town.clock.now_ms() + 3_600_000
    assert bound
    assert (bound.account, bound.opens_at_ms) == (an_account("alice"), 0)


def test_a_wrong_code_gets_no_token(town: PaymentSystem) -> None:
    with pytest.raises(CodeInvalid):
        _sign_in(town, "something")


def test_an_account_that_another_user_has_bound_stays_theirs(town: PaymentSystem) -> None:
    town.accounts.bind("host's user", WECHAT, an_account("alice"), town.clock.now_ms())

    token, _ = _sign_in(town)

    theirs = town.accounts.find("host's user", WECHAT)
    assert token
    assert town.accounts.find(ALICE, WECHAT) is None
    assert theirs
    assert theirs.account == an_account("alice")


def test_signing_in_does_not_undo_a_users_own_choice(town: PaymentSystem) -> None:
    _sign_in(town)
    town.system.pass_time(1_000)
    chosen = town.accounts.bind(ALICE, WECHAT, an_account("other"), town.clock.now_ms())
    town.system.pass_time(1_000)

    _sign_in(town)

    assert town.accounts.find(ALICE, WECHAT) == chosen


def test_a_token_is_given_although_the_binding_has_to_wait(town: PaymentSystem) -> None:
    town.accounts = Away(error=Unavailable)  # type: ignore[assignment]

    token, _ = _sign_in(town)

    assert token
    assert [name for name, _ in town.system.logger.errors] == ["sign_in_not_bound"]
