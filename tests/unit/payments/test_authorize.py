from dataclasses import replace

import pytest

from redpacket.ledger.errors import ChannelUnavailable
from redpacket.ledger.provider_name import ProviderName
from redpacket.operations.model.limits import PROVIDER_CALLS
from redpacket.payments.errors import PayeeNotBound
from redpacket.payments.model.authorization import (
    ASKED_MS,
    CONSENT_MS,
    Authorization,
    AuthorizationStatus,
)
from redpacket.payments.model.provider import ProviderEvent, ProviderEventKind, Refusal
from redpacket.payments.model.withdrawals import Withdrawal, WithdrawalStatus
from redpacket.payments.use_cases.authorize import authorize, end_authorization
from redpacket.payments.use_cases.withdraw import WithdrawalAsk, withdraw
from redpacket.platform.errors import RateLimited, Unavailable
from redpacket.platform.idempotency import Request
from testing.payments.fake_gateway import an_account
from testing.payments.payment_system import PaymentSystem

WECHAT = ProviderName.WECHAT
HOUR_MS = 3_600_000


@pytest.fixture
def town() -> PaymentSystem:
    town = PaymentSystem()
    town.accounts.bind("alice", WECHAT, an_account("alice"), town.clock.now_ms())
    return town


def _ask(town: PaymentSystem) -> Authorization:
    return authorize("alice", WECHAT, "Alice", ports=town.authorizations)


def _agree(town: PaymentSystem) -> Authorization:
    authorization = _ask(town)
    town.gateway.agree(authorization.number)
    _tell(town, authorization.number)
    stored = town.consents.find(authorization.number)
    assert stored
    return stored


def _tell(town: PaymentSystem, number: str) -> None:
    town.follow(ProviderEvent(ProviderEventKind.AUTHORIZATION, "notice", number))


def _used(town: PaymentSystem) -> str | None:
    payee = town.accounts.find("alice", WECHAT)
    return payee.authorization_no if payee else None


def _named(town: PaymentSystem) -> str | None:
    payee = town.accounts.find("alice", WECHAT)
    return payee.asked_no if payee else None


def _status(town: PaymentSystem, authorization: Authorization) -> str:
    stored = town.consents.find(authorization.number)
    assert stored
    return stored.status


def test_a_consent_is_requested_and_used_once_the_user_agrees(town: PaymentSystem) -> None:
    authorization = _ask(town)
    before = _used(town)
    town.gateway.agree(authorization.number)

    _tell(town, authorization.number)

    assert authorization.status is AuthorizationStatus.AWAITING_CONFIRMATION
    sealed = authorization.confirmation
    assert town.prompts.open_text(sealed, authorization.number) == "agree-hash-alice"
    assert town.prompts.open_text(sealed, "another consent") is None
    assert before is None
    assert _used(town) == authorization.number
    assert _status(town, authorization) == "active"
    assert town.consents.list_waiting(WECHAT, 10**15, 10) == []


def test_a_callback_moves_nothing_without_confirmation_by_the_gateway(town: PaymentSystem) -> None:
    authorization = _ask(town)

    _tell(town, authorization.number)
    _tell(town, "unknown")

    assert _used(town) is None
    assert _status(town, authorization) == "awaiting_confirmation"


def test_a_user_without_an_account_cannot_consent(town: PaymentSystem) -> None:
    with pytest.raises(PayeeNotBound):
        authorize("bob", WECHAT, "Bob", ports=town.authorizations)
    with pytest.raises(ChannelUnavailable):
        authorize("alice", ProviderName.HOST, "Alice", ports=town.authorizations)
    with pytest.raises(ChannelUnavailable):
        end_authorization("alice", ProviderName.HOST, ports=town.authorizations)

    assert town.consent_gate.requests == []


def test_a_repeat_uses_the_same_number(town: PaymentSystem) -> None:
    first, second = _ask(town), _ask(town)

    assert first == second
    assert town.consent_gate.requests == [first.number] * 2


def test_requests_of_one_user_are_limited_but_a_consent_can_always_be_ended(
    town: PaymentSystem,
) -> None:
    for _ in range(PROVIDER_CALLS.burst):
        asked = _ask(town)

    with pytest.raises(RateLimited):
        _ask(town)
    calls = len(town.consent_gate.requests)
    ended = end_authorization("alice", WECHAT, ports=town.authorizations)

    assert calls == PROVIDER_CALLS.burst
    assert ended
    assert ended.status is AuthorizationStatus.CLOSING
    town.sweep_after(60_000)
    assert _status(town, asked) == "closed"


def test_a_number_is_durable_before_the_gateway_is_called(town: PaymentSystem) -> None:
    town.gateway.is_away = True
    with pytest.raises(Unavailable):
        _ask(town)
    number = _named(town)
    town.gateway.is_away = False

    again = _ask(town)

    assert again.number == number
    assert town.consent_gate.requests == [number]


def test_an_ended_consent_is_replaced_by_a_new_number(town: PaymentSystem) -> None:
    ended = _agree(town)
    town.gateway.end(ended.number, "")

    again = _ask(town)

    assert again.number != ended.number
    assert again.status is AuthorizationStatus.AWAITING_CONFIRMATION
    assert _status(town, ended) == "closed"
    assert (_named(town), _used(town)) == (again.number, None)


def test_an_active_consent_is_not_requested_again(town: PaymentSystem) -> None:
    agreed = _agree(town)

    again = _ask(town)

    assert (again.number, again.status) == (agreed.number, AuthorizationStatus.ACTIVE)
    assert len(town.consent_gate.requests) == 1


def test_a_user_ends_their_consent(town: PaymentSystem) -> None:
    agreed = _agree(town)

    ended = end_authorization("alice", WECHAT, ports=town.authorizations)

    assert ended
    assert (ended.number, ended.status) == (agreed.number, AuthorizationStatus.CLOSED)
    assert (_named(town), _used(town)) == (None, None)
    assert town.gateway.consents[agreed.number].state == "closed"
    assert end_authorization("alice", WECHAT, ports=town.authorizations) is None


def test_an_ended_consent_is_unused_although_the_gateway_is_unavailable(
    town: PaymentSystem,
) -> None:
    agreed = _agree(town)
    town.gateway.is_away = True

    ended = end_authorization("alice", WECHAT, ports=town.authorizations)
    town.gateway.is_away = False
    used = _used(town)
    town.sweep_after(60_000)

    assert ended
    assert ended.status is AuthorizationStatus.CLOSING
    assert used is None
    assert town.gateway.consents[agreed.number].state == "closed"
    assert _status(town, agreed) == "closed"


def test_a_consent_that_ends_during_the_agreement_is_not_used(town: PaymentSystem) -> None:
    authorization = _ask(town)
    town.gateway.is_away = True
    end_authorization("alice", WECHAT, ports=town.authorizations)
    town.gateway.is_away = False
    town.gateway.agree(authorization.number)

    assert not town.consents.activate(authorization)
    _tell(town, authorization.number)

    assert _used(town) is None
    assert town.gateway.consents[authorization.number].state == "closed"


def test_the_sweep_needs_no_callback(town: PaymentSystem) -> None:
    authorization = _ask(town)
    town.gateway.agree(authorization.number)
    town.system.pass_time(60_000)

    report = town.sweep()

    assert report.done_count == 1
    assert _used(town) == authorization.number


def test_a_consent_without_an_answer_does_not_block_others(town: PaymentSystem) -> None:
    authorization = _ask(town)
    town.gateway.is_away = True
    town.system.pass_time(60_000)

    report = town.sweep()

    assert report.failed_count == 1
    assert town.consents.list_waiting(WECHAT, town.clock.now_ms(), 10) == []
    assert town.consents.list_waiting(WECHAT, town.clock.now_ms() + HOUR_MS, 10) == [
        authorization.number
    ]


def test_the_sweep_ends_a_lapsed_consent(town: PaymentSystem) -> None:
    authorization = _ask(town)
    town.gateway.end(authorization.number, "")
    town.sweep_after(60_000)

    assert _status(town, authorization) == "closed"
    assert _named(town) is None


def test_a_consent_that_is_not_given_within_a_day_is_ended(town: PaymentSystem) -> None:
    authorization = _ask(town)
    town.sweep_after(CONSENT_MS - 1)
    before = _status(town, authorization)
    town.sweep_after(2 * HOUR_MS)
    town.sweep_after(2 * HOUR_MS)

    assert before == "awaiting_confirmation"
    assert _status(town, authorization) == "closed"
    assert town.gateway.consents[authorization.number].state == "closed"


def test_a_consent_that_never_reached_the_gateway_ends_after_a_day(town: PaymentSystem) -> None:
    town.gateway.is_away = True
    with pytest.raises(Unavailable):
        _ask(town)
    town.gateway.is_away = False
    number = _named(town)
    assert number
    town.sweep_after(ASKED_MS)
    before = _named(town)
    again = _ask(town)
    town.system.pass_time(CONSENT_MS - ASKED_MS)

    last = _ask(town)

    assert before == number == again.number
    assert town.consent_gate.requests == [last.number]
    assert last.number != number


def test_an_active_consent_stays_if_the_gateway_misses_it_briefly(town: PaymentSystem) -> None:
    agreed = _agree(town)
    town.system.pass_time(2 * CONSENT_MS)
    consents, town.gateway.consents = town.gateway.consents, {}

    _tell(town, agreed.number)
    town.gateway.consents = consents

    assert _used(town) == agreed.number


def test_the_consent_of_another_user_is_never_used(town: PaymentSystem) -> None:
    authorization = _ask(town)
    town.gateway.agree(authorization.number)
    town.gateway.consents[authorization.number].user = "hash-mallory"

    for _ in range(2):
        _tell(town, authorization.number)

    assert (_named(town), _used(town)) == (None, None)
    assert _status(town, authorization) == "closed"
    assert [name for name, _ in town.system.logger.errors] == ["consent_mismatched"]


def test_another_account_needs_another_consent(town: PaymentSystem) -> None:
    agreed = _agree(town)
    town.system.pass_time(1_000)

    town.accounts.bind("alice", WECHAT, an_account("other"), town.clock.now_ms())
    bound, status = (_named(town), _used(town)), _status(town, agreed)
    town.sweep_after(60_000)

    assert bound == (None, None)
    assert status == "closing"
    assert _status(town, agreed) == "closed"
    assert town.gateway.consents[agreed.number].state == "closed"


# Transfers


def _withdraw(town: PaymentSystem) -> Withdrawal:
    request = Request("alice", f"key-{next(town.ids)}", "body")
    ask = WithdrawalAsk("alice", 100, WECHAT, request)
    return withdraw(ask, payees=town.accounts, ports=town.transfers, payments=town.payments)


def test_a_revoked_consent_is_no_longer_used(town: PaymentSystem) -> None:
    town.system.deposit("alice", 500)
    agreed = _agree(town)
    town.gateway.end(agreed.number, "")
    town.gateway.refusal = lambda order: Refusal.NOT_AUTHORIZED if order.authorization_no else None
    first = _withdraw(town)
    town.dispatch()

    second = _withdraw(town)
    town.sweep_after(60_000)

    assert (first.authorization_no, second.authorization_no) == (agreed.number, None)
    assert _status(town, agreed) == "closed"
    assert _named(town) is None


def test_a_consent_that_the_gateway_still_has_is_restored(town: PaymentSystem) -> None:
    town.system.deposit("alice", 500)
    agreed = _agree(town)
    town.gateway.refusal = lambda order: Refusal.NOT_AUTHORIZED if order.authorization_no else None
    held = _withdraw(town)
    town.dispatch()
    doubted = (_used(town), _status(town, agreed))

    town.sweep_after(60_000)
    back = _used(town)
    for _ in range(6):
        town.system.pass_time(60_000)
        town.dispatch()
        town.sweep()

    assert doubted == (None, "awaiting_confirmation")
    assert back == agreed.number
    assert town.find(held).status is WithdrawalStatus.PAID
    assert town.differences() == []


def test_an_earlier_consent_does_not_affect_the_current_account(town: PaymentSystem) -> None:
    before = _agree(town)
    town.accounts.bind("alice", WECHAT, an_account("other"), town.clock.now_ms())
    town.sweep()
    agreed = _agree(town)

    town.consents.doubt("alice", WECHAT, before.number, town.clock.now_ms())

    assert _used(town) == agreed.number != before.number
    assert town.consents.find(before.number) == replace(
        before, status=AuthorizationStatus.CLOSED, confirmation=""
    )
