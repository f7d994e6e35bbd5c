from dataclasses import replace
from functools import partial
from unittest.mock import patch

import pytest

from redpacket.ledger.errors import ChannelUnavailable, InsufficientFunds
from redpacket.ledger.provider_name import ProviderName
from redpacket.payments.dynamodb import keys
from redpacket.payments.dynamodb.withdrawals import DynamoWithdrawals
from redpacket.payments.errors import (
    AmountTooLarge,
    AmountTooSmall,
    NotCancellable,
    PayeeNotBound,
    WithdrawalLimitReached,
    WithdrawalNotFound,
)
from redpacket.payments.model import provider as gateway
from redpacket.payments.model.provider import Payee
from redpacket.payments.model.withdrawals import (
    FUNCTION_MS,
    GIVEN_UP_AFTER_MS,
    LEASE_MS,
    Stop,
    Withdrawal,
    WithdrawalLimits,
    WithdrawalStatus,
)
from redpacket.payments.sealed_accounts import AccountKeys, Accounts
from redpacket.payments.use_cases.dependencies import WithdrawalSettings
from redpacket.payments.use_cases.dispatch import BATCH, IDLE_MS
from redpacket.payments.use_cases.rate_limiter import FAILURES_MAX, REST_MS_MAX
from redpacket.payments.use_cases.transfer import (
    Called,
    apply_answer,
    call_transfer,
    cancel_withdrawal,
    sync_transfer,
)
from redpacket.payments.use_cases.withdraw import (
    WithdrawalAsk,
    list_withdrawals,
    withdraw,
    withdraw_above,
)
from redpacket.platform import errors
from redpacket.platform.bounds import CLOCKS_DIFFER_MS
from redpacket.platform.idempotency import Request
from testing.payments.fake_gateway import SETTLING_MS, FakePaymentsOut, an_account
from testing.payments.payment_system import FEN_MAX, PaymentSystem

WECHAT = ProviderName.WECHAT
SAFE_MS = LEASE_MS + FUNCTION_MS + CLOCKS_DIFFER_MS + SETTLING_MS


@pytest.fixture
def town() -> PaymentSystem:
    town = PaymentSystem()
    town.system.deposit("user", 1000)
    return town


def test_a_withdrawal_is_called_queried_and_posted(town: PaymentSystem) -> None:
    withdrawal = town.withdraw("user", 300)

    report = town.dispatch()
    called = town.find(withdrawal)
    town.sweep_after(LEASE_MS)

    assert (report.answered_count, report.failed_count) == (1, 0)
    assert called.status is WithdrawalStatus.PROCESSING
    assert town.find(withdrawal).status is WithdrawalStatus.PAID
    with pytest.raises(NotCancellable):
        town.cancel(withdrawal)
    assert [line.amount_fen for line in town.gateway.book] == [300]
    assert town.balance_fen() == 700
    assert town.system.logger.counts["withdrawn"] == 1
    assert town.differences(bound_ms=0) == []


def test_an_account_copied_from_another_user_is_paid_nothing(town: PaymentSystem) -> None:
    accounts = Accounts(AccountKeys({"1": bytes(64)}, bytes(32)), "wechat/app")
    town.payees.bound = {
        user: Payee(accounts.seal(f"openid-{user}", user)) for user in ("user", "mallory")
    }
    withdrawal = town.withdraw("user", 300)
    row = town.system.row("payments", keys.withdrawal(withdrawal.withdrawal_id))
    mallorys = accounts.seal("openid-mallory", "mallory")

    row |= {"payee_sealed": {"S": mallorys.sealed}, "payee_hash": {"S": mallorys.name_hash}}

    with pytest.raises(errors.InvariantViolated):
        accounts.open(town.find(withdrawal).order.payee)


def test_a_repeat_is_the_same_withdrawal_after_limits_were_lowered(town: PaymentSystem) -> None:
    first = town.withdraw("user", 300, key="key")
    town.payees.bound["user"] = None

    assert town.withdraw("user", 300, key="key").withdrawal_id == first.withdrawal_id
    assert town.balance_fen() == 700
    with (
        patch.object(town.withdrawals, "find", return_value=None),
        pytest.raises(errors.Unavailable),
    ):
        town.withdraw("user", 300, key="key")


@pytest.mark.parametrize(
    ("amount_fen", "refusal"),
    [
        (9, AmountTooSmall),
        (FEN_MAX + 1, AmountTooLarge),
        (1001, InsufficientFunds),
    ],
)
def test_a_refusal_holds_nothing(
    town: PaymentSystem, amount_fen: int, refusal: type[Exception]
) -> None:
    with pytest.raises(refusal):
        town.withdraw("user", amount_fen)

    assert town.balance_fen() == 1000
    assert town.system.ledger_state().outside.withdrawals == []
    assert town.system.ledger_state().outside.withdrawn == {}


def test_the_largest_amount_and_the_whole_daily_limit_are_accepted(town: PaymentSystem) -> None:
    town.settings = _limited(count_max=2, fen_max=FEN_MAX)
    town.system.deposit("user", FEN_MAX)

    assert town.withdraw("user", FEN_MAX).amount_fen == FEN_MAX


def test_the_withdrawals_of_a_user_are_limited_by_day(town: PaymentSystem) -> None:
    town.settings = _limited(count_max=2, fen_max=500)
    town.withdraw("user", 300)
    with pytest.raises(WithdrawalLimitReached):
        town.withdraw("user", 201)
    town.withdraw("user", 100)

    with pytest.raises(WithdrawalLimitReached):
        town.withdraw("user", 50)
    with pytest.raises(WithdrawalLimitReached):
        town.withdraw("user", 501)

    assert town.balance_fen() == 600
    assert town.differences() == []


def _limited(count_max: int, fen_max: int) -> WithdrawalSettings:
    return WithdrawalSettings(10, FEN_MAX, WithdrawalLimits(count_max, fen_max))


def test_an_account_that_replaced_another_one_waits_a_day(town: PaymentSystem) -> None:
    now_ms = town.clock.now_ms()
    town.payees.bound["user"] = Payee(an_account("user"), now_ms - 1000 + 24 * 3_600_000)

    with pytest.raises(PayeeNotBound):
        town.withdraw("user", 100)
    town.system.pass_time(24 * 3_600_000)

    assert town.withdraw("user", 100).amount_fen == 100


def test_an_unconfigured_provider_is_refused(town: PaymentSystem) -> None:
    ask = WithdrawalAsk("user", 100, ProviderName.HOST, Request("user", "k", "b"))

    with pytest.raises(ChannelUnavailable):
        withdraw(ask, payees=town.payees, ports=town.transfers, payments=town.payments)


def test_a_user_with_a_debt_pays_it_before_withdrawing(town: PaymentSystem) -> None:
    payment = town.pay_in("debtor", 100)
    town.withdraw("debtor", 100)
    town.refund(payment, 100)
    town.system.deposit("debtor", 150)

    with pytest.raises(InsufficientFunds):
        town.withdraw("debtor", 60)
    withdrawal = town.withdraw("debtor", 50)

    assert withdrawal.amount_fen == 50
    assert town.system.ledger.balance_fen("receivable:debtor") == 0
    assert town.differences() == []


# Faults between us and the provider.


def test_a_call_that_times_out_after_paying_is_repeated_with_its_number(
    town: PaymentSystem,
) -> None:
    withdrawal = town.withdraw("user", 300)
    gate = town.gates_out[WECHAT]
    transfer = gate.transfer

    def pays_and_times_out(order: gateway.TransferOrder) -> gateway.TransferFound:
        transfer(order)
        raise errors.Unavailable("no answer")

    gate.transfer = pays_and_times_out  # type: ignore[method-assign]
    town.dispatch(1_000)
    town.sweep_after(LEASE_MS)

    assert town.find(withdrawal).status is WithdrawalStatus.PAID
    assert len(town.gateway.book) == 1
    assert town.differences(bound_ms=0) == []


def test_a_worker_that_stalled_past_its_lease_does_not_call(town: PaymentSystem) -> None:
    withdrawal = town.withdraw("user", 300)
    lease = town.withdrawals.lease

    def stalls(seen: Withdrawal, until_ms: int, now_ms: int) -> Withdrawal | None:
        leased = lease(seen, until_ms, now_ms)
        town.system.pass_time(LEASE_MS)
        return leased

    town.withdrawals.lease = stalls  # type: ignore[method-assign]
    seen = town.find(withdrawal)
    call_transfer(withdrawal.withdrawal_id, ports=town.transfers)

    assert town.gateway.transfers == {}
    # A call that read the withdrawal earlier also makes no transfer.
    now_ms = town.clock.now_ms()
    assert lease(seen, 10**15, now_ms) is lease(town.find(withdrawal), 10**15, now_ms - 1) is None


def test_a_missing_transfer_is_not_returned_before_every_call_is_over(town: PaymentSystem) -> None:
    withdrawal = town.called(300, is_away=True)
    called_at_ms = town.find(withdrawal).lease_until_ms - LEASE_MS
    town.cancel(withdrawal)

    town.clock.at_ms = called_at_ms + SAFE_MS - 1
    sync_transfer(withdrawal.withdrawal_id, ports=town.transfers)
    early = town.find(withdrawal)
    town.clock.at_ms += 1
    sync_transfer(withdrawal.withdrawal_id, ports=town.transfers)

    assert early.status is WithdrawalStatus.CANCELLING
    assert early.next_at_ms == called_at_ms + SAFE_MS
    assert town.find(withdrawal).status is WithdrawalStatus.CANCELLED
    assert town.balance_fen() == 1000
    assert town.differences(bound_ms=0) == []


def test_an_uncalled_withdrawal_is_canceled_once_the_provider_confirms(town: PaymentSystem) -> None:
    withdrawal = town.withdraw("user", 300)
    seen = town.find(withdrawal)

    stopped = town.cancel(withdrawal)
    is_leased = town.withdrawals.lease(seen, 10**15, town.clock.now_ms())
    held_fen = town.balance_fen()
    town.sweep()

    cancelled = town.find(withdrawal)
    assert (stopped.status, is_leased, held_fen) == (WithdrawalStatus.CANCELLING, None, 700)
    assert (cancelled.status, cancelled.reason) == (WithdrawalStatus.CANCELLED, "cancelled")
    assert town.balance_fen() == 1000
    assert town.cancel(withdrawal) == cancelled


def test_a_payment_wins_over_its_cancellation(town: PaymentSystem) -> None:
    withdrawal = town.called(300)
    stopped = town.cancel(withdrawal)

    town.sweep_after(LEASE_MS)

    assert stopped.status is WithdrawalStatus.CANCELLING
    assert town.find(withdrawal).status is WithdrawalStatus.PAID
    assert town.differences(bound_ms=0) == []


def test_a_transfer_that_waits_for_its_payee_is_canceled_at_the_gateway(
    waiting_town: PaymentSystem,
) -> None:
    waiting_town.gateway.next_state = _cancels
    withdrawal = waiting_town.called(300)
    _check_waits(waiting_town, withdrawal)
    waiting_town.cancel(withdrawal)

    waiting_town.sweep_after(LEASE_MS)
    waiting_town.sweep_after(60_000)

    assert waiting_town.find(withdrawal).status is WithdrawalStatus.CANCELLED
    assert waiting_town.balance_fen() == 1000
    assert waiting_town.differences(bound_ms=0) == []


@pytest.fixture
def waiting_town() -> PaymentSystem:
    """Return a system whose provider waits for each payee's confirmation."""
    town = PaymentSystem(details="confirm")
    town.system.deposit("user", 1000)
    town.gateway.next_state = lambda state: state
    return town


def _check_waits(town: PaymentSystem, withdrawal: Withdrawal) -> None:
    stored = town.find(withdrawal)
    assert stored.status is WithdrawalStatus.AWAITING_CONFIRMATION
    package = town.prompts.open_text(stored.confirmation, stored.withdrawal_id)
    assert package
    assert package.startswith("package")


def test_data_for_the_payee_survives_queries_without_it(
    waiting_town: PaymentSystem,
) -> None:
    withdrawal = waiting_town.called(300)

    for is_away in (False, False, True):
        waiting_town.gateway.is_away = is_away
        waiting_town.sweep_after(LEASE_MS)

        _check_waits(waiting_town, withdrawal)
    assert len(waiting_town.gateway.called_at_ms) == 1


def test_data_for_the_payee_in_a_lost_answer_is_requested_with_the_same_number(
    waiting_town: PaymentSystem,
) -> None:
    withdrawal = _called_without_answer(waiting_town)
    waiting_town.sweep_after(LEASE_MS)
    waiting_town.dispatch(1_000)

    _check_waits(waiting_town, withdrawal)
    assert len(waiting_town.gateway.transfers) == 1


def _called_without_answer(town: PaymentSystem) -> Withdrawal:
    """Make a transfer that its payee has to confirm, and drop the response."""
    answers = iter([False])

    class Losing(FakePaymentsOut):
        def transfer(self, order: gateway.TransferOrder) -> gateway.TransferFound:
            transfer = super().transfer(order)
            if next(answers, True):
                return transfer
            raise errors.Unavailable("it timed out")

    town.gates_out = {WECHAT: Losing(town.gateway, "confirm")}
    return town.called(300)


def _refused_when_repeated(
    town: PaymentSystem, refusal: gateway.Refusal = gateway.Refusal.OTHER
) -> Withdrawal:
    """Drop the response about a transfer that no query finds yet, and refuse the retry."""
    town.gateway.hides_for_ms = lambda: SETTLING_MS - 10_000
    withdrawal = _called_without_answer(town)
    town.sweep_after(LEASE_MS)
    town.gateway.refusal = lambda _: refusal
    town.dispatch(1_000)
    assert town.find(withdrawal).stop in {Stop.REFUSED, Stop.NOT_AUTHORIZED}
    assert town.find(withdrawal).call_count == 2
    return withdrawal


@pytest.mark.parametrize("consent", [None, "consent"])
def test_a_transfer_whose_repeat_was_refused_is_canceled_at_the_gateway_before_its_confirmation(
    waiting_town: PaymentSystem, consent: str | None
) -> None:
    waiting_town.payees.authorization_no = consent
    refusal = gateway.Refusal.NOT_AUTHORIZED if consent else gateway.Refusal.OTHER
    withdrawal = _refused_when_repeated(waiting_town, refusal)
    waiting_town.gateway.transfers[withdrawal.transfer_no].state = "awaiting_confirmation"
    waiting_town.gateway.next_state = _cancels

    for _ in range(3):
        waiting_town.sweep_after(SAFE_MS)

    assert waiting_town.find(withdrawal).status is WithdrawalStatus.CANCELLED
    assert waiting_town.balance_fen() == 1000
    assert waiting_town.differences(bound_ms=0) == []


def _cancels(state: gateway.TransferState) -> gateway.TransferState:
    return gateway.TransferState.CANCELLED if state is gateway.TransferState.CANCELLING else state


def test_a_refusal_does_not_prevent_a_cancellation(waiting_town: PaymentSystem) -> None:
    withdrawal = _refused_when_repeated(waiting_town)
    refused = waiting_town.find(withdrawal)
    now_ms = waiting_town.clock.now_ms()
    assert waiting_town.withdrawals.stop(refused, Stop.NOT_AUTHORIZED, "late", now_ms) is None

    stopped = waiting_town.cancel(withdrawal)

    assert (stopped.status, stopped.stop) == (WithdrawalStatus.CANCELLING, Stop.CANCELLED)
    assert waiting_town.cancel(withdrawal) == stopped
    # Neither a refusal nor a timeout overrides the user's decision.
    for stop in (Stop.REFUSED, Stop.NOT_AUTHORIZED, Stop.EXPIRED):
        for seen in (refused, stopped):
            assert waiting_town.withdrawals.stop(seen, stop, "late", now_ms) is None
    waiting_town.gateway.next_state = _cancels
    for _ in range(3):
        waiting_town.sweep_after(SAFE_MS)
    assert waiting_town.find(withdrawal).status is WithdrawalStatus.CANCELLED
    assert waiting_town.balance_fen() == 1000


def test_a_refused_withdrawal_can_also_be_canceled(waiting_town: PaymentSystem) -> None:
    withdrawal = _refused_when_repeated(waiting_town)
    waiting_town.gateway.transfers[withdrawal.transfer_no].state = "processing"

    waiting_town.sweep_after(GIVEN_UP_AFTER_MS // 2)
    early = waiting_town.find(withdrawal)
    waiting_town.sweep_after(GIVEN_UP_AFTER_MS // 2)
    late = waiting_town.find(withdrawal)
    with pytest.raises(NotCancellable):
        waiting_town.cancel(withdrawal)
    waiting_town.gateway.next_state = lambda _: gateway.TransferState.FAILED
    waiting_town.sweep_after(60_000)

    assert (early.stop, late.stop) == (Stop.REFUSED, Stop.EXPIRED)
    assert waiting_town.find(withdrawal).status is WithdrawalStatus.FAILED
    assert waiting_town.balance_fen() == 1000


def test_a_transfer_that_its_gateway_leaves_pending_is_followed_to_its_end(
    town: PaymentSystem,
) -> None:
    # In one simulated schedule, a provider answered "processing" for two and a half days.
    withdrawal = town.called(300)
    town.gateway.next_state = lambda state: state
    town.sweep_after(1_800_000)
    early = [*town.system.logger.events]
    for _ in range(119):
        town.sweep_after(1_800_000)
    seen = town.find(withdrawal)

    town.gateway.next_state = lambda _: gateway.TransferState.SUCCEEDED
    town.sweep_after(1_800_000)

    assert (seen.status, seen.stop) == (WithdrawalStatus.PROCESSING, None)
    assert ("transfer_late" in early, "transfer_late" in town.system.logger.events) == (False, True)
    assert town.find(withdrawal).status is WithdrawalStatus.PAID
    assert town.differences(bound_ms=0) == []


def test_a_confirmation_is_followed_at_once_although_the_lease_still_runs(
    waiting_town: PaymentSystem,
) -> None:
    withdrawal = waiting_town.called(300)
    waiting_town.gateway.next_state = lambda _: gateway.TransferState.SUCCEEDED

    waiting_town.follow(
        gateway.ProviderEvent(gateway.ProviderEventKind.TRANSFER, "1", withdrawal.transfer_no)
    )

    assert waiting_town.find(withdrawal).status is WithdrawalStatus.PAID
    assert waiting_town.differences(bound_ms=0) == []


def test_a_confirmed_pending_transfer_is_processing(
    waiting_town: PaymentSystem,
) -> None:
    withdrawal = waiting_town.called(300)
    waiting_town.gateway.next_state = lambda _: gateway.TransferState.PROCESSING

    waiting_town.sweep_after(LEASE_MS)

    assert waiting_town.find(withdrawal).status is WithdrawalStatus.PROCESSING


def test_a_refusal_is_confirmed_by_a_query_before_money_is_returned(town: PaymentSystem) -> None:
    town.gateway.refusal = lambda _: gateway.Refusal.OTHER
    withdrawal = town.called(300)
    refused = town.find(withdrawal)

    town.sweep_after(60_000)
    early = town.find(withdrawal)
    town.sweep_after(SAFE_MS)

    assert refused.stop is Stop.REFUSED
    assert not early.is_final
    assert town.find(withdrawal).status is WithdrawalStatus.FAILED
    assert town.balance_fen() == 1000


def test_a_temporary_refusal_is_repeated_with_the_same_number(town: PaymentSystem) -> None:
    refusals = [gateway.Refusal.THROTTLED, gateway.Refusal.OUT_OF_FUNDS]
    town.gateway.refusal = lambda _: refusals.pop() if refusals else None
    withdrawal = town.withdraw("user", 300)

    for _ in range(5):
        town.dispatch(30_000)
        town.sweep_after(60_000)

    assert town.find(withdrawal).status is WithdrawalStatus.PAID
    assert town.find(withdrawal).attempt_no == 1
    assert town.differences(bound_ms=0) == []


def test_a_revoked_consent_leads_to_a_new_number_once_the_first_cannot_be_executed(
    town: PaymentSystem,
) -> None:
    town.payees.authorization_no = "consent"
    town.gateway.refusal = lambda order: (
        gateway.Refusal.NOT_AUTHORIZED if order.authorization_no else None
    )
    withdrawal = town.called(300)

    town.sweep_after(60_000)
    early = town.find(withdrawal)
    town.sweep_after(SAFE_MS)
    town.dispatch(1_000)
    town.sweep_after(120_000)

    paid = town.find(withdrawal)
    assert (early.attempt_no, early.stop) == (1, Stop.NOT_AUTHORIZED)
    assert (paid.attempt_no, paid.authorization_no) == (2, None)
    assert paid.status is WithdrawalStatus.PAID
    assert [line.number for line in town.gateway.book] == [paid.transfer_no]
    assert town.differences(bound_ms=0) == []


def test_a_transfer_of_another_amount_is_neither_posted_nor_returned(town: PaymentSystem) -> None:
    withdrawal = town.withdraw("user", 300)
    transfer = gateway.TransferFound(gateway.TransferState.SUCCEEDED, amount_fen=299)
    stranger = gateway.TransferFound(gateway.TransferState.FAILED, payee_hash="hash-stranger")

    for other in (transfer, stranger):
        with pytest.raises(errors.InvariantViolated):
            apply_answer(withdrawal, other, town.gates_out[WECHAT], town.transfers)

    assert [name for name, _ in town.system.logger.errors] == ["transfer_mismatched"] * 2


def test_a_transfer_that_its_gateway_never_ends_is_canceled_after_days(town: PaymentSystem) -> None:
    town.gateway.is_away = True
    queued, called = town.withdraw("user", 100), town.withdraw("user", 200)
    call_transfer(called.withdrawal_id, ports=town.transfers)
    town.system.pass_time(GIVEN_UP_AFTER_MS)
    town.gateway.is_away = False

    for _ in range(4):
        town.dispatch(1_000)
        town.sweep()
        town.system.pass_time(SAFE_MS)

    assert town.find(queued).status is WithdrawalStatus.FAILED
    assert town.find(called).status is WithdrawalStatus.FAILED
    assert town.balance_fen() == 1000
    assert town.gateway.transfers == {}
    assert town.differences(bound_ms=0) == []


def test_a_transfer_that_was_paid_before_its_cancellation_is_posted_at_once(
    town: PaymentSystem,
) -> None:
    withdrawal = town.withdraw("user", 300)
    town.dispatch()
    town.system.pass_time(GIVEN_UP_AFTER_MS)

    looked = sync_transfer(withdrawal.withdrawal_id, ports=town.transfers)

    assert looked
    assert looked.status is WithdrawalStatus.PAID
    assert town.differences(bound_ms=0) == []


def test_a_withdrawal_that_another_process_cancels_meanwhile_is_left_to_it(
    town: PaymentSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    withdrawal = town.withdraw("user", 300)
    town.dispatch()
    seen = town.find(withdrawal)
    town.system.pass_time(GIVEN_UP_AFTER_MS)
    monkeypatch.setattr(town.withdrawals, "stop", lambda *_: None)

    assert sync_transfer(withdrawal.withdrawal_id, ports=town.transfers) == seen


def test_a_late_query_moves_nothing(town: PaymentSystem) -> None:
    """Another worker has called in the meantime, and its lease delays the next query."""
    withdrawal = town.withdraw("user", 300)
    seen = town.find(withdrawal)
    town.dispatch()
    called = town.find(withdrawal)

    town.withdrawals.look_again(seen, town.clock.now_ms())

    assert town.find(withdrawal) == called
    assert town.withdrawals.list_to_look(WECHAT, called.lease_until_ms - 1, 800) == []


def test_a_user_cannot_cancel_the_withdrawal_of_another(town: PaymentSystem) -> None:
    withdrawal = town.withdraw("user", 100)

    with pytest.raises(WithdrawalNotFound):
        cancel_withdrawal(withdrawal.withdrawal_id, "thief", ports=town.transfers)


def test_withdrawals_of_a_user_are_paged_newest_first(town: PaymentSystem) -> None:
    ids = []
    for _ in range(5):
        town.system.pass_time(1_000)
        ids.append(town.withdraw("user", 10).withdrawal_id)

    first, cursor = town.withdrawals.list_of_user("user", None, 3)
    second, end = town.withdrawals.list_of_user("user", cursor, 3)

    assert [withdrawal.withdrawal_id for withdrawal in (*first, *second)] == ids[::-1]
    assert end is None


# Pace


def test_a_thousand_withdrawals_take_the_computed_time(town: PaymentSystem) -> None:
    """1,000 transfers at 1,800 a minute take 33 seconds, with at most 31 in any second."""
    town.settings = _limited(count_max=10_000, fen_max=10**8)
    town.system.deposit("user", 10_000)
    expected = [town.withdraw("user", 10).expected_at_ms for _ in range(1_000)]
    began_at_ms = town.clock.now_ms()

    town.dispatch(60_000)

    calls = [at_ms - began_at_ms for at_ms in town.gateway.called_at_ms]
    assert len(calls) == 1_000
    assert len(town.gateway.transfers) == 1_000
    assert 33_000 <= calls[-1] - calls[0] <= 34_000
    assert max(calls) <= expected[-1] - began_at_ms + 1_000
    seconds = [at_ms // 1000 for at_ms in calls]
    assert max(seconds.count(second) for second in set(seconds)) <= 31


def test_a_user_sees_the_wait_for_the_next_run(town: PaymentSystem) -> None:
    town.settings = replace(town.settings, begins_within_ms=60_000)
    town.system.deposit("user", 100)

    withdrawal = town.withdraw("user", 10)

    assert withdrawal.expected_at_ms == town.clock.now_ms() + 60_000


def test_slots_have_the_interval_that_the_gateway_requires(town: PaymentSystem) -> None:
    town.bills_per_minute = 60
    now_ms = town.clock.now_ms()

    slots = [*town.pace.take(2), *town.pace.take(1)]
    town.clock.at_ms += 60_000

    assert slots == [now_ms, now_ms + 1_000, now_ms + 2_000]
    assert town.pace.take(1) == [now_ms + 60_000]


def test_a_slot_from_a_clock_that_was_days_ahead_does_not_stop_calls(town: PaymentSystem) -> None:
    clock, three_days_ms = town.clock, 3 * 86_400_000 + 60_000
    now_ms = clock.now_ms()

    clock.at_ms += three_days_ms
    town.pace.take(2)
    town.pace.promise()
    clock.at_ms = now_ms

    assert town.pace.take(1) == [now_ms]
    assert town.pace.promise() == now_ms


def test_ended_withdrawals_are_listed_by_user_only(town: PaymentSystem) -> None:
    withdrawal = town.withdraw("user", 10)
    town.dispatch()
    town.sweep_after(LEASE_MS)
    find = partial(list_withdrawals, cursor=None, ports=town.transfers, lists=town.lists)

    listed, _ = find("user", WithdrawalStatus.PAID)

    assert [each.withdrawal_id for each in listed] == [withdrawal.withdrawal_id]
    with pytest.raises(errors.InvalidRequest):
        find(None, WithdrawalStatus.PAID)


def test_a_run_calls_withdrawals_with_a_slot_within_its_time(town: PaymentSystem) -> None:
    town.bills_per_minute = 60
    for _ in range(5):
        town.withdraw("user", 10)

    town.dispatch(2_500)

    assert len(town.gateway.called_at_ms) == 3
    # The run took only one slot after its end.
    assert town.pace.take(1) == [town.gateway.called_at_ms[0] + 4_000]


def test_a_run_ends_although_the_index_still_lists_answered_withdrawals(
    town: PaymentSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    withdrawal = town.withdraw("user", 10)
    start_ms = town.clock.now_ms()
    listed = [withdrawal.withdrawal_id]
    monkeypatch.setattr(town.withdrawals, "list_to_call", lambda *_: listed)

    report = town.dispatch(50_000)

    assert (report.answered_count, len(town.gateway.called_at_ms)) == (1, 1)
    assert town.clock.now_ms() - start_ms < 2 * IDLE_MS


def test_a_call_waits_until_the_millisecond_of_its_slot(town: PaymentSystem) -> None:
    town.bills_per_minute = 60_000
    for _ in range(3):
        town.withdraw("user", 10)

    town.dispatch(2_500)

    first_ms = town.gateway.called_at_ms[0]
    assert town.gateway.called_at_ms == [first_ms, first_ms + 1, first_ms + 2]


def test_a_failing_gateway_is_paused_and_no_withdrawal_fails(town: PaymentSystem) -> None:
    town.gateway.is_away = True
    withdrawals = [town.withdraw("user", 10) for _ in range(FAILURES_MAX)]
    report = town.dispatch(5_000)
    first_rest_ms = town.pace.rests_until_ms() - town.clock.now_ms()
    town.system.pass_time(LEASE_MS)
    with pytest.raises(errors.Unavailable):
        town.gates_out[WECHAT].query("bill")
    town.gateway.is_away = False

    for _ in range(4):
        town.sweep_after(60_000)
        town.dispatch(5_000)

    assert report.failed_count >= FAILURES_MAX
    assert 0 < first_rest_ms <= 30_000
    assert "gateway_rests" in town.system.logger.events
    assert town.pace.rests_until_ms() == 0
    # The provider's answers reset the length of the next pause.
    assert town.store.find_breaker(WECHAT) == (0, 0)
    assert {town.find(withdrawal).status for withdrawal in withdrawals} == {WithdrawalStatus.PAID}
    assert town.differences(bound_ms=0) == []


def test_one_call_without_an_answer_in_a_run_reports_a_silent_provider(
    town: PaymentSystem,
) -> None:
    town.withdraw("user", 10)
    town.gateway.is_away = True
    town.dispatch(5_000)
    called = town.system.logger.events.count("provider_silent")
    town.system.pass_time(LEASE_MS + 60_000)
    town.sweep(47_000)
    looked = town.system.logger.events.count("provider_silent")
    town.gateway.is_away = False
    town.system.pass_time(60_000)

    town.sweep(47_000)
    town.dispatch(5_000)

    assert (called, looked) == (1, 2)
    assert town.system.logger.events.count("provider_silent") == looked
    assert "gateway_rests" not in town.system.logger.events


def test_a_silent_provider_is_noted_until_it_answers(town: PaymentSystem) -> None:
    town.withdraw("user", 10)
    town.gateway.is_away = True
    since_ms = town.clock.now_ms()
    town.dispatch(5_000)
    town.sweep_after(LEASE_MS + 60_000)
    silent = _answers(town)
    town.gateway.is_away = False

    town.sweep_after(60_000)

    assert since_ms <= silent["silent_since_ms"] <= since_ms + 5_000
    assert "answered_at_ms" not in silent
    assert _answers(town).keys() & {"answered_at_ms", "silent_since_ms"} == {"answered_at_ms"}


def _answers(town: PaymentSystem) -> dict[str, int]:
    row = keys.provider_row(WECHAT, "answers")
    stored = town.system.dynamo.tables["payments"][row["pk"], row["sk"]]
    return {name: int(value["N"]) for name, value in stored.items() if "N" in value}


def test_an_answer_before_a_pause_does_not_shorten_the_next_one(town: PaymentSystem) -> None:
    for number in range(BATCH + 1):
        town.withdraw("user", 10 + number)
    answers = iter([town.gates_out[WECHAT].transfer])

    def transfer(order: gateway.TransferOrder) -> gateway.TransferFound:
        answer = next(answers, None)
        if answer is None:
            raise errors.Unavailable("the provider hangs")
        return answer(order)

    with patch.object(town.gates_out[WECHAT], "transfer", transfer):
        report = town.dispatch(60_000)

    # The last call failed after the pause. The answer at the start of the run must not count.
    assert (report.answered_count, report.failed_count) == (1, BATCH)
    assert town.store.find_breaker(WECHAT)[1] == 1


def test_a_run_ends_at_once_if_the_gateway_is_paused_until_its_end(town: PaymentSystem) -> None:
    town.withdraw("user", 10)
    now_ms = town.clock.now_ms()

    report = town.dispatch(town.pace.rest() - now_ms)

    assert (report.answered_count, report.failed_count) == (0, 0)
    assert town.clock.now_ms() == now_ms
    assert town.gateway.called_at_ms == []


def test_a_pause_that_no_breaker_makes_is_ignored(town: PaymentSystem) -> None:
    town.store.set_breaker(WECHAT, town.clock.now_ms() + REST_MS_MAX + 1, 3)

    assert town.pace.rests_until_ms() == 0
    town.store.set_breaker(WECHAT, town.clock.now_ms() + REST_MS_MAX, 3)
    assert town.pace.rests_until_ms() == town.clock.now_ms() + REST_MS_MAX


def test_the_pauses_of_an_unavailable_gateway_grow(town: PaymentSystem) -> None:
    rests = []
    for _ in range(7):
        rests.append(town.pace.rest() - town.clock.now_ms())
        town.clock.at_ms = town.pace.rests_until_ms()

    assert rests == [30_000, 60_000, 120_000, 240_000, 480_000, 900_000, 900_000]


# An option


def _pay_out(town: PaymentSystem, cause: str) -> Withdrawal | None:
    ports = {"payees": town.payees, "ports": town.transfers, "payments": town.payments}
    return withdraw_above("user", WECHAT, cause, **ports)  # type: ignore[arg-type]


def test_a_balance_above_the_threshold_is_paid_out_once_for_each_claim(town: PaymentSystem) -> None:
    town.settings = replace(town.settings, above_fen=500)
    town.payees.authorization_no = "consent"

    first, repeat = _pay_out(town, "claim-1"), _pay_out(town, "claim-1")
    town.system.deposit("user", 499)
    below = _pay_out(town, "claim-2")
    town.system.deposit("user", 1)
    same = _pay_out(town, "claim-1")
    above = _pay_out(town, "claim-3")

    assert first
    assert same
    assert above
    assert (first.amount_fen, repeat, below, above.amount_fen) == (1000, None, None, 500)
    assert same.withdrawal_id == first.withdrawal_id
    assert town.balance_fen() == 0
    assert town.differences() == []


@pytest.mark.parametrize("failure", [errors.Contended, errors.Unavailable])
def test_an_answer_that_is_not_stored_delays_no_money(
    town: PaymentSystem, monkeypatch: pytest.MonkeyPatch, failure: type[errors.RedPacketError]
) -> None:
    def fail(*_: object) -> None:
        raise failure("the ledger does not answer")

    monkeypatch.setattr(DynamoWithdrawals, "note_call", fail)
    town.system.deposit("user", 100)

    withdrawal = town.called(100)

    assert town.find(withdrawal).status is not WithdrawalStatus.QUEUED
    assert "answer_not_kept" in [name for name, _ in town.system.logger.errors]


def test_payouts_are_automatic_only_if_enabled_and_without_confirmation(
    town: PaymentSystem,
) -> None:
    town.payees.authorization_no = "consent"
    assert _pay_out(town, "claim-1") is None
    town.payees.authorization_no = None
    town.settings = replace(town.settings, above_fen=500)

    assert _pay_out(town, "claim-1") is None
    town.payees.bound["user"] = None
    assert _pay_out(town, "claim-1") is None

    assert town.balance_fen() == 1000
    assert town.system.logger.events == []


def test_an_unknown_withdrawal_is_not_called(town: PaymentSystem) -> None:
    assert call_transfer("0" * 32, ports=town.transfers) is Called.NOT_MADE


def test_a_notice_about_a_withdrawal_that_waits_for_its_call_leaves_it_in_its_list(
    town: PaymentSystem,
) -> None:
    withdrawal = town.withdraw("user", 10)

    synced = sync_transfer(withdrawal.withdrawal_id, ports=town.transfers)

    assert synced == withdrawal
    waiting = town.withdrawals.list_to_call(WECHAT, town.clock.now_ms(), 10)
    assert waiting == [withdrawal.withdrawal_id]


def test_a_conflicting_cancellation_is_retried(town: PaymentSystem) -> None:
    withdrawal = town.withdraw("user", 10)

    book = town.withdrawals
    with (
        patch.object(type(book), "stop", return_value=None) as stopped,
        pytest.raises(errors.Unavailable),
    ):
        cancel_withdrawal(withdrawal.withdrawal_id, "user", ports=town.transfers)

    assert stopped.call_count > 1


def test_a_failed_query_waits_behind_the_others(town: PaymentSystem) -> None:
    withdrawal = town.called(10, is_away=True)
    town.system.pass_time(SAFE_MS)
    book = town.withdrawals
    assert book.list_to_look(WECHAT, town.clock.now_ms(), 10) == [withdrawal.withdrawal_id]

    with (
        patch.object(FakePaymentsOut, "query", side_effect=errors.Unavailable("away")),
        pytest.raises(errors.Unavailable),
    ):
        sync_transfer(withdrawal.withdrawal_id, ports=town.transfers)

    assert book.list_to_look(WECHAT, town.clock.now_ms(), 10) == []


def test_campaign_money_cannot_be_withdrawn(town: PaymentSystem) -> None:
    request = Request("operator", "key", "body")
    town.system.deposit_for_campaigns("chest", 500, request)

    with pytest.raises(errors.Forbidden):
        town.withdraw("chest", 10)

    assert town.balance_fen("chest") == 500


def test_a_gateway_that_fails_a_few_times_is_not_paused(town: PaymentSystem) -> None:
    town.gateway.is_away = True
    for _ in range(FAILURES_MAX - 1):
        town.withdraw("user", 10)

    town.dispatch(1_000)

    assert "gateway_rests" not in town.system.logger.events


def test_a_returned_withdrawal_cannot_be_posted(town: PaymentSystem) -> None:
    withdrawal = town.withdraw("user", 300)
    seen = town.find(withdrawal)
    town.cancel(withdrawal)
    town.sweep()

    with pytest.raises(errors.InvariantViolated):
        town.withdrawals.post(seen, gateway.TransferFound(gateway.TransferState.SUCCEEDED, "b"), 1)

    assert town.balance_fen() == 1000
