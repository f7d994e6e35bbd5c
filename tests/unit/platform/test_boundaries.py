"""Boundaries of rules at which mutants had survived (tests/mutants.py)."""

import itertools
from contextlib import nullcontext
from dataclasses import replace
from datetime import datetime, time, timedelta, timezone
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from redpacket.approvals import model as approvals
from redpacket.approvals.use_cases.decide_approval import DecidePorts, approve
from redpacket.campaigns.errors import (
    CampaignEnded,
    CampaignNotFound,
    CampaignNotStarted,
    CampaignPaused,
    NotInAudience,
)
from redpacket.campaigns.model import AudienceMode, CampaignStatus, DrawRules, meets
from redpacket.campaigns.use_cases.cached_campaigns import CachedCampaigns
from redpacket.events.model.webhooks import FAILURES_MAX
from redpacket.fairness.model.merkle import EMPTY_ROOT, is_consistent, leaf_hash
from redpacket.ledger.provider_name import ProviderName
from redpacket.lottery.model.lottery import (
    DrawStatus,
    Player,
    PlayerState,
    check_is_giving,
    check_is_published,
    is_giving,
)
from redpacket.lottery.use_cases.draw_attempt import DrawAttempt
from redpacket.lottery.use_cases.draw_prize import _check_audience
from redpacket.operations.model import allowances
from redpacket.packets.dynamodb import keys
from redpacket.packets.errors import SplitImpossible
from redpacket.packets.model.claim import ShareStatus
from redpacket.packets.model.packet import PacketStatus
from redpacket.packets.model.passphrase import is_alike
from redpacket.packets.split.terms import check_possible
from redpacket.packets.use_cases.expire_packets import LATE_MS, _place
from redpacket.packets.use_cases.load_packet import CacheLoads, ShardToLoad
from redpacket.packets.use_cases.read_records import read_record
from redpacket.packets.use_cases.settle_claims import _pay, _transfer
from redpacket.payments.model import provider as gateway
from redpacket.payments.model.payments import (
    PAYMENT_LIFE_MS,
    WATCHED_MS,
    Payment,
    PaymentReturn,
    PaymentStatus,
    ReturnStatus,
    may_order,
    next_look_ms,
)
from redpacket.payments.model.withdrawals import (
    FUNCTION_MS,
    GIVEN_UP_AFTER_MS,
    LEASE_MS,
    NextAction,
    Stop,
    Withdrawal,
    judge,
)
from redpacket.payments.ports import QUERY_HORIZON_MS
from redpacket.payments.providers.host_wallet.provider import HostOut
from redpacket.payments.providers.wechat.provider import WeChatOut
from redpacket.payments.use_cases.confirm_payment import _funding, _is_for, confirm_payment
from redpacket.payments.use_cases.rate_limiter import NightWindow
from redpacket.payments.use_cases.return_payment import RETURN_PAUSE_MS, note_refund, return_payment
from redpacket.payments.use_cases.start_payment import find_payment
from redpacket.payments.use_cases.sweep_payments import AGAIN_MS
from redpacket.payments.use_cases.transfer import call_transfer, sync_transfer
from redpacket.payments.use_cases.withdraw import withdraw_above
from redpacket.platform import errors
from redpacket.platform.bounds import CLOCKS_DIFFER_MS
from redpacket.platform.idempotency import Request
from redpacket.platform.user import User
from testing.builders import NOW_MS, a_campaign, a_claim, a_packet, some_terms
from testing.events.event_system import FAILED, OK, EventSystem
from testing.in_memory_system import InMemorySystem, a_person, an_operator
from testing.payments.fake_gateway import CALL_MS_MAX, SETTLING_MS, FakePaymentsIn, an_account
from testing.payments.outside_checks import check_late_end, check_outside_in_time
from testing.payments.payment_system import FEN_MAX, PaymentSystem
from testing.reconciliation.checks import check_outside

WECHAT = ProviderName.WECHAT
CHINA = timezone(timedelta(hours=8))


@pytest.fixture
def town() -> PaymentSystem:
    town = PaymentSystem()
    town.system.deposit("user", 1000)
    return town


# ---- withdrawals

MISSING = gateway.TransferFound(gateway.TransferState.NOT_FOUND)


def _withdrawal(**changes: object) -> Withdrawal:
    made = Withdrawal(
        "withdrawal", "user", 100, WECHAT, an_account("user"), None, "scene", "2027-01-01", NOW_MS
    )
    return replace(made, **changes)  # type: ignore[arg-type]


AWAITING, PROCESSING, CANCELLING = (
    gateway.TransferState.AWAITING_CONFIRMATION,
    gateway.TransferState.PROCESSING,
    gateway.TransferState.CANCELLING,
)


@pytest.mark.parametrize(
    ("stops", "to_cancel", "to_look"),
    [
        ((Stop.CANCELLED, Stop.EXPIRED), (AWAITING, PROCESSING), (CANCELLING,)),
        # A refused transfer can be canceled only before its confirmation.
        ((Stop.REFUSED, Stop.NOT_AUTHORIZED), (AWAITING,), (PROCESSING, CANCELLING)),
    ],
)
def test_a_stopped_transfer_is_canceled_at_the_gateway(
    stops: tuple[Stop, ...], to_cancel: tuple[Any, ...], to_look: tuple[Any, ...]
) -> None:
    for stop, state in itertools.product(stops, (*to_cancel, *to_look)):
        verdict = judge(_withdrawal(stop=stop), gateway.TransferFound(state), NOW_MS, 0, 1)
        assert verdict is (NextAction.ASK_TO_CANCEL if state in to_cancel else NextAction.LOOK)


@pytest.mark.parametrize(
    ("authorization_no", "verdict"),
    [(None, NextAction.STOP_REFUSED), ("consent", NextAction.STOP_NOT_AUTHORIZED)],
)
def test_a_consent_can_be_missing_only_if_one_was_named(
    authorization_no: str | None, verdict: NextAction
) -> None:
    transfer = gateway.TransferFound(
        gateway.TransferState.REFUSED, refusal=gateway.Refusal.NOT_AUTHORIZED
    )

    assert judge(_withdrawal(authorization_no=authorization_no), transfer, NOW_MS, 0, 1) is verdict


@pytest.mark.parametrize(
    ("stop", "verdict"),
    [
        (Stop.CANCELLED, NextAction.RETURN_CANCELLED),
        (Stop.EXPIRED, NextAction.RETURN_FAILED),
        (Stop.REFUSED, NextAction.RETURN_FAILED),
        (Stop.NOT_AUTHORIZED, NextAction.NEW_NUMBER),
    ],
)
def test_a_missing_transfer_is_over_to_the_millisecond(stop: Stop, verdict: NextAction) -> None:
    seen = _withdrawal(stop=stop, lease_until_ms=NOW_MS)
    over_ms = NOW_MS + FUNCTION_MS + CLOCKS_DIFFER_MS + SETTLING_MS
    bounds = SETTLING_MS, QUERY_HORIZON_MS

    assert judge(seen, MISSING, over_ms - 1, *bounds) is NextAction.LOOK
    assert judge(seen, MISSING, over_ms, *bounds) is verdict
    assert judge(replace(seen, stop=None), MISSING, over_ms, *bounds) is NextAction.CALL


@pytest.mark.parametrize("stop", [None, *Stop])
def test_a_missing_transfer_proves_nothing_from_the_horizon_on(stop: Stop | None) -> None:
    # A late lease must not extend the horizon: the first call may be as old as the transfer number.
    bounds = SETTLING_MS, 10 * SETTLING_MS
    seen = _withdrawal(stop=stop, lease_until_ms=NOW_MS + 5 * SETTLING_MS)
    forgotten_ms = NOW_MS + 10 * SETTLING_MS - CLOCKS_DIFFER_MS

    assert judge(seen, MISSING, forgotten_ms - 1, *bounds) is not NextAction.LOOK
    assert judge(seen, MISSING, forgotten_ms, *bounds) is NextAction.LOOK
    failed = gateway.TransferFound(gateway.TransferState.FAILED)
    assert judge(seen, failed, forgotten_ms, *bounds) is NextAction.RETURN_FAILED


def test_calls_end_long_before_providers_forget() -> None:
    for provider in (WeChatOut, HostOut):
        assert 2 * GIVEN_UP_AFTER_MS < provider.query_horizon_ms < 30 * 24 * 3_600_000


def test_a_transfer_is_booked_on_the_day_of_its_payment(town: PaymentSystem) -> None:
    late = datetime(2027, 2, 6, 23, 59, 30, tzinfo=CHINA)
    town.clock.at_ms = int(late.timestamp() * 1000)
    withdrawal = town.withdraw("user", 100)
    town.dispatch()
    town.gates_out[WECHAT].query(withdrawal.transfer_no)  # The query shows that it is paid.
    town.system.pass_time(60_000)

    town.sweep()

    assert gateway.statement_day(town.clock.now_ms()) == "2027-02-07"
    lines = [town.repository.list_lines(WECHAT, day) for day in ("2027-02-06", "2027-02-07")]
    assert [[line.kind for line in of_day] for of_day in lines] == [
        [gateway.StatementKind.TRANSFER],
        [],
    ]


def test_a_balance_above_the_largest_transfer_is_paid_out_in_parts(town: PaymentSystem) -> None:
    town.settings = replace(town.settings, above_fen=500)
    town.payees.authorization_no = "consent"
    town.system.deposit("user", FEN_MAX)

    withdrawal = withdraw_above(
        "user", WECHAT, "claim", payees=town.payees, ports=town.transfers, payments=town.payments
    )

    assert withdrawal
    assert withdrawal.amount_fen == FEN_MAX
    assert town.balance_fen() == 1000


@pytest.mark.parametrize("early_ms", [0, 1])
def test_a_withdrawal_is_given_up_to_the_millisecond(town: PaymentSystem, early_ms: int) -> None:
    called, queued = town.called(100, is_away=True), town.withdraw("user", 100)
    town.clock.at_ms = called.created_at_ms + GIVEN_UP_AFTER_MS - early_ms
    sync_transfer(called.withdrawal_id, ports=town.transfers)
    town.clock.at_ms = queued.created_at_ms + GIVEN_UP_AFTER_MS - early_ms
    call_transfer(queued.withdrawal_id, ports=town.transfers)

    assert town.find(called).stop is (None if early_ms else Stop.EXPIRED)
    assert town.find(queued).call_count == early_ms


def test_a_pending_transfer_is_queried_after_a_quarter_of_its_age(town: PaymentSystem) -> None:
    town.gateway.next_state = lambda state: state
    withdrawal = town.called(100)
    town.clock.at_ms = withdrawal.created_at_ms + 60_000
    sync_transfer(withdrawal.withdrawal_id, ports=town.transfers)
    look_at_ms = town.clock.now_ms() + 15_000

    book = town.withdrawals
    stored = [book.list_to_look(WECHAT, at_ms, 9) for at_ms in (look_at_ms - 1, look_at_ms)]
    assert stored == [[], [withdrawal.withdrawal_id]]


def test_a_throttled_transfer_is_called_again_after_a_minute(town: PaymentSystem) -> None:
    town.gateway.refusal = lambda _: gateway.Refusal.THROTTLED
    withdrawal = town.withdraw("user", 100)
    call_at_ms = town.clock.now_ms() + 60_000

    call_transfer(withdrawal.withdrawal_id, ports=town.transfers)

    book = town.withdrawals
    stored = [book.list_to_call(WECHAT, at_ms, 9) for at_ms in (call_at_ms - 1, call_at_ms)]
    assert stored == [[], [withdrawal.withdrawal_id]]


# ---- the rate of calls


def test_no_slot_of_a_batch_is_within_the_night(town: PaymentSystem) -> None:
    town.bills_per_minute = 60
    town.night = NightWindow(time(23, 0), time(7, 0))
    town.clock.at_ms = int(datetime(2027, 2, 6, 22, 59, 58, tzinfo=CHINA).timestamp() * 1000)
    morning_ms = int(datetime(2027, 2, 7, 7, 0, tzinfo=CHINA).timestamp() * 1000)

    first, second = town.pace.take(5), town.pace.take(1)

    assert first == [town.clock.at_ms, town.clock.at_ms + 1_000]
    assert second == [morning_ms]


def test_the_pause_after_a_recovery_is_short_again(town: PaymentSystem) -> None:
    for _ in range(3):
        town.pace.rest()
        town.clock.at_ms = town.pace.rests_until_ms()

    town.pace.recover()

    assert town.pace.rests_until_ms() == 0
    assert town.pace.rest() - town.clock.now_ms() == 30_000


def test_money_is_held_too_long_after_twice_the_days_of_giving_up() -> None:
    held, late_ms = _withdrawal(), NOW_MS + 2 * GIVEN_UP_AFTER_MS

    assert check_late_end(held, late_ms) == []
    assert len(check_late_end(held, late_ms + 1)) == 1


def test_only_money_for_a_packet_can_arrive_too_late(town: PaymentSystem) -> None:
    town.pay_in("user", 100)

    assert "payment_came_late" not in town.system.logger.events


def test_the_interval_of_calls_is_rounded_up(town: PaymentSystem) -> None:
    town.bills_per_minute = 7

    assert repr(town.pace.interval_us) == "8571429"


def test_a_run_continues_after_a_short_pause(town: PaymentSystem) -> None:
    town.store.set_breaker(WECHAT, town.clock.now_ms() + 3_000, 1)
    withdrawal = town.withdraw("user", 100)

    town.dispatch(20_000)

    assert town.gateway.called_at_ms
    assert town.find(withdrawal).call_count == 1


# ---- payments


def test_a_payment_cannot_open_a_packet_that_waits_for_another_one(town: PaymentSystem) -> None:
    first, second = (town.start_packet(town.send_unpaid(f"sender-{no}")) for no in range(2))
    transaction = town.gateway.pay(second.number)
    assert transaction
    funding = _funding(town.system.packets.find_packet(str(first.packet_id)), NOW_MS)

    is_done = town.repository.credit(second, transaction, NOW_MS, funding=funding)

    assert not is_done
    assert town.confirm(second).status is PaymentStatus.PAID


def test_a_refund_of_another_amount_ends_no_return(town: PaymentSystem) -> None:
    payment = town.pay_in("user", 100)
    town.pay_again(payment)
    (due,) = town.returns.list_returns(payment.number)
    town.gates_in[WECHAT].refund(due.order)
    town.gateway.refunds[due.refund_no] = replace(town.gateway.refunds[due.refund_no], amount_fen=1)

    with pytest.raises(errors.InvariantViolated, match=r", 1\) at the provider"):
        note_refund(WECHAT, due.refund_no, ports=town.payments)

    assert town.returns.list_returns(payment.number)[0].status is ReturnStatus.DUE


def test_a_gateway_refunds_no_payment_of_another_one(town: PaymentSystem) -> None:
    town.gates_in = {
        WECHAT: FakePaymentsIn(town.gateway),
        ProviderName.HOST: FakePaymentsIn(town.gateway),
    }
    payment = town.pay_in("user", 100)
    refund_no = town.gateway.refund_outside(payment.number, 100)

    note_refund(ProviderName.HOST, refund_no, ports=town.payments)

    assert town.balance_fen() == 1100
    assert [name for name, _ in town.system.logger.errors] == ["refund_unknown"]


def test_an_order_is_missing_permanently_only_after_its_call_and_the_delay_of_the_gateway(
    town: PaymentSystem,
) -> None:
    town.gateway.is_away = True
    payment = town.start()
    town.gateway.is_away = False
    town.system.pass_time(PAYMENT_LIFE_MS + SETTLING_MS + CALL_MS_MAX - 1)

    early = town.confirm(payment)
    town.system.pass_time(1)
    late = town.confirm(payment)

    assert (early.status, late.status) == (PaymentStatus.PENDING, PaymentStatus.CLOSED)


def test_no_order_is_placed_after_the_end_of_its_payment(town: PaymentSystem) -> None:
    town.gateway.is_away = True
    payment = town.start()
    town.gateway.is_away = False
    town.system.pass_time(PAYMENT_LIFE_MS)

    shown = find_payment(payment.number, "user", ports=town.payments, payees=town.payees)

    assert not shown.prompt
    assert town.gateway.orders == {}


def test_a_payment_of_another_amount_opens_no_packet(town: PaymentSystem) -> None:
    packet = town.send_unpaid()
    payment = town.start_packet(packet)

    assert _is_for(payment, packet)
    assert not _is_for(replace(payment, amount_fen=payment.amount_fen - 1), packet)
    assert not _is_for(payment, None)


def test_a_returned_payment_is_not_returned_again(town: PaymentSystem) -> None:
    payment = town.pay_in("user", 100)
    town.pay_again(payment)
    (due,) = town.returns.list_returns(payment.number)
    number = payment.number

    town.gateway.is_away = True
    with pytest.raises(errors.Unavailable):
        return_payment(number, due.transaction_id, ports=town.payments)
    again_ms = town.clock.now_ms() + RETURN_PAUSE_MS
    still_due = [town.returns.list_returns_due(WECHAT, at, 9) for at in (again_ms - 1, again_ms)]
    assert still_due == [[], [(number, due.transaction_id)]]
    town.gateway.is_away = False
    return_payment(number, due.transaction_id, ports=town.payments)
    (done,) = town.returns.list_returns(number)
    town.gateway.is_away = True  # A call would fail from here on; none is made.
    for transaction_id in (due.transaction_id, "unknown"):
        return_payment(number, transaction_id, ports=town.payments)

    assert done.status is ReturnStatus.DONE
    assert town.returns.list_returns(number) == [done]


def test_an_unnamed_transaction_is_not_queried(
    town: PaymentSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    payment = town.start()
    calls: list[str] = []
    monkeypatch.setattr(town.gates_in[WECHAT], "query_transaction", calls.append)

    confirm_payment(payment.number, ports=town.payments)

    assert calls == []


def test_a_sweep_leaves_payable_payments_unchanged(town: PaymentSystem) -> None:
    town.send_unpaid()

    assert town.sweep_after(PAYMENT_LIFE_MS - 1).done_count == 0
    assert town.sweep_after(1).done_count == 1


def test_a_transfer_is_queried_from_the_end_of_its_lease(town: PaymentSystem) -> None:
    withdrawal = town.called(100, is_away=True)
    town.clock.at_ms = town.find(withdrawal).lease_until_ms

    sync_transfer(withdrawal.withdrawal_id, ports=town.transfers)

    due = town.withdrawals.list_to_look(WECHAT, town.clock.now_ms(), 9)
    assert due == []


def test_a_transaction_with_neither_outcome_differs_from_one_with_both(
    town: PaymentSystem,
) -> None:
    payment = town.pay_in("user", 100)
    town.pay_again(payment)
    facts = town.system.ledger_state().outside
    (returned,) = facts.returns
    (credited,) = facts.payments
    both = replace(returned, transaction_id=credited.transaction_id)
    paid = (credited.transaction_id or "", returned.transaction_id)
    kind = gateway.StatementKind.PAYMENT
    lines = [gateway.StatementLine(kind, payment.number, each, 100, NOW_MS) for each in paid]

    def told(returns: list[PaymentReturn]) -> set[str]:
        differences = check_outside(replace(facts, returns=returns), lines)
        return {
            str(difference.actual)
            for difference in differences
            if difference.subject.endswith(payment.number)
        }

    assert told([returned]) == set()
    assert told([]) == {"neither"}
    assert "both" in told([returned, both])


@pytest.mark.parametrize("is_credited", [True, False])
def test_a_refund_outside_is_at_least_a_fen_and_at_most_the_rest(
    town: PaymentSystem, *, is_credited: bool
) -> None:
    payment = town.start("user", 100)
    town.gateway.pay(payment.number)
    if is_credited:
        town.confirm(payment)

    for fen, is_possible in ((0, False), (101, False), (1, True), (100, False), (99, True)):
        with nullcontext() if is_possible else pytest.raises(errors.InvariantViolated):
            town.refund(payment, fen)

    assert town.paid(payment).refunded_fen == 100
    assert town.balance_fen() == 1000


def test_a_refund_outside_of_a_return_is_at_least_a_fen(town: PaymentSystem) -> None:
    payment = town.pay_in("user", 100)
    town.pay_again(payment)
    (due,) = town.returns.list_returns(payment.number)
    second = town.gateway.orders[payment.number].transactions[1]

    note_refund(WECHAT, town.gateway.refund_paid(second, 1), ports=town.payments)

    (left,) = town.returns.list_returns(payment.number)
    assert (due.left_fen, left.left_fen) == (100, 99)


def test_the_payments_of_a_day_are_counted_until_midnight_in_china(town: PaymentSystem) -> None:
    town.payments_per_day_max = 1
    noon = datetime(2027, 2, 6, 12, 0, tzinfo=CHINA)
    town.clock.at_ms = int(noon.timestamp() * 1000) - 500
    town.start()

    with pytest.raises(errors.RateLimited) as refused:
        town.start()

    assert refused.value.retry_after_s == 12 * 3600 + 1


# ---- operators


def test_a_second_rejection_of_an_approval_fails(system: InMemorySystem) -> None:
    system.approval_fen = 1000
    process = system.process()
    with pytest.raises(allowances.ApprovalNeededError) as needed:
        process.deposit(a_person("user"), 2000, Request("ann", "key", "body"))
    change = approvals.DepositAsked("user", 2000, "key", "body")
    approval_id = process.ask_approval(
        needed.value, an_operator("ann"), lambda _: change, payee=a_person("user")
    ).approval_id

    def approve_by(name: str, error: Exception) -> None:
        def apply(_: approvals.Approval) -> None:
            raise error

        ports = DecidePorts(approvals=process.approvals, clock=system.clock, apply=apply)
        with pytest.raises(type(error)):
            approve(approval_id, an_operator(name), ports=ports)

    approve_by("bob", errors.Unavailable("the ledger does not answer"))
    approve_by("cat", errors.VersionConflict("it was applied meanwhile"))

    approval = process.approvals.find_approval(approval_id)
    assert approval
    assert approval.status is approvals.ApprovalStatus.APPROVED


def test_a_sum_moved_by_an_operator_is_kept_while_it_counts(system: InMemorySystem) -> None:
    for later_ms in (0, 400_500):
        system.pass_time(later_ms)
        system.process().deposit(a_person("bob"), 1, Request("ann", f"key-{later_ms}", "body"))
        (row,) = [row for row in system.dynamo.tables["approvals"].values() if "sums" in row]
        counts_until_ms = system.clock.now_ms() + allowances.WINDOW_MS
        assert int(row["expires_at_s"]["N"]) == counts_until_ms // 1000 + 1


def test_sums_of_five_minutes_are_kept_as_long_as_their_newest_one() -> None:
    begin_ms = NOW_MS // 300_000 * 300_000
    allowance = (
        allowances.Allowance("ann", "user:bob").spent(600, begin_ms).spent(400, begin_ms + 299_999)
    )

    assert len(allowance.sums) == 1
    assert allowance.sum_fen(begin_ms + 299_998 + allowances.WINDOW_MS) == 1000
    assert allowance.sum_fen(begin_ms + 299_999 + allowances.WINDOW_MS) == 0


# ---- packets and proofs


def test_a_page_that_ends_with_the_last_claim_has_no_next_one(system: InMemorySystem) -> None:
    packet = system.send(count=3)
    system.grab_all(packet, "ann", "bob")

    def next_no(limit: int) -> int | None:
        return read_record(
            packet.packet_id,
            User("ann"),
            after_no=0,
            limit=limit,
            packets=system.packets,
            pages=system.pages,
        ).next_no

    assert [next_no(limit) for limit in (1, 2, 3)] == [1, None, None]


def test_only_a_claim_with_a_claimer_is_recorded(system: InMemorySystem) -> None:
    packet = system.send(count=2)
    claim = a_claim(packet, 1, "ann")

    for wrong in (replace(claim, claimer=None), replace(claim, status=ShareStatus.REFUNDED)):
        with pytest.raises(ValueError, match="claimer"):
            system.process().recorder.record_claim(wrong)
    with pytest.raises(errors.InvariantViolated, match="no claimer"):
        _transfer(replace(claim, claimer=None), NOW_MS)


def test_only_a_refusal_for_attempts_is_checked_again() -> None:
    rules = DrawRules(attempts_per_user_per_day=9)
    snapshot: Any = SimpleNamespace(campaign=a_campaign(rules=rules))
    nothing: Any = None
    attempt = DrawAttempt(
        User("ann"), "", snapshot, PlayerState(Player()), request=nothing, ports=nothing
    )

    with pytest.raises(CampaignPaused):
        attempt._check_refusal(DrawStatus.CAMPAIGN_PAUSED, snapshot)


def test_a_small_packet_has_a_hundred_shares_at_most() -> None:
    assert [a_packet(count=count).is_small for count in (100, 101)] == [True, False]


def test_a_packet_is_late_to_the_millisecond() -> None:
    packet = a_packet()
    late_ms = packet.expires_at_ms + LATE_MS

    assert [_place([packet], at_ms) for at_ms in (late_ms - 1, late_ms)] == [
        (True, packet.terms.count),
        (False, packet.terms.count),
    ]


def test_the_cache_stores_the_share_of_an_owner(system: InMemorySystem) -> None:
    packet = system.send(count=3)
    system.grab_all(packet, "ann", "bob")
    system.memory.caches.clear()
    system.memory.load(packet, [])

    system.grab(packet, "bob")  # The cache first gives bob ann's number 1.

    assert system.memory.grab(packet.packet_id, "bob").share_no == 2


def test_an_empty_log_has_one_root() -> None:
    root = leaf_hash(b"a")

    assert is_consistent(0, 1, [], EMPTY_ROOT, root)
    assert not is_consistent(0, 1, [], leaf_hash(b"another"), root)
    assert not is_consistent(0, 1, [root], EMPTY_ROOT, root)


def test_a_phrase_that_is_half_numerals_must_match_to_the_letter() -> None:
    assert is_alike("一恭禧发", "一恭喜发", 80, lambda *_: 80)
    assert not is_alike("一二恭禧", "一二恭喜", 80, lambda *_: 80)


def test_an_emptied_packet_has_its_time_to_empty_before_its_claims_are_settled(
    system: InMemorySystem,
) -> None:
    packet = system.send(count=2)
    system.pass_time(500)
    for user in ("ann", "bob"):
        system.grab(packet, user)

    record = system.read_record(packet, "ann")

    assert (record.status, record.emptied_in_ms) == ("emptied", 500)


def test_a_caller_gives_up_on_a_cache_that_is_always_behind(system: InMemorySystem) -> None:
    packet = system.send()
    ports: Any = SimpleNamespace(
        packets=system.packets,
        claim_cache=system.memory,
        turns=system.memory,
        clock=system.clock,
    )
    loads = CacheLoads(packet.packet_id, "ann", ports)
    wanted = ShardToLoad(0, is_behind=True)

    for _ in range(3):
        loads.load(wanted)
    with pytest.raises(errors.Unavailable):
        loads.load(wanted)


def test_a_campaign_is_active_from_its_first_millisecond_to_its_last() -> None:
    campaign = a_campaign(starts_at_ms=NOW_MS, ends_at_ms=NOW_MS + 10)
    times = [NOW_MS - 1, NOW_MS, NOW_MS + 9, NOW_MS + 10]

    assert [is_giving(campaign, at_ms) for at_ms in times] == [False, True, True, False]
    check_is_giving(campaign, NOW_MS)
    check_is_giving(campaign, NOW_MS + 9)
    with pytest.raises(CampaignNotStarted):
        check_is_giving(campaign, NOW_MS - 1)
    with pytest.raises(CampaignEnded):
        check_is_giving(campaign, NOW_MS + 10)


def test_a_missing_campaign_with_packets_is_a_bug(system: InMemorySystem) -> None:
    campaigns = CachedCampaigns(system.campaigns, clock=system.clock, logger=system.logger)

    with pytest.raises(errors.InvariantViolated):
        campaigns.get("gone")


def test_an_ended_campaign_is_reported_before_a_missing_invitation(
    system: InMemorySystem,
) -> None:
    campaign = a_campaign(ends_at_ms=system.clock.now_ms() + 1)
    snapshot: Any = SimpleNamespace(campaign=campaign, audience_mode=AudienceMode.ALLOW)
    state = PlayerState(Player())
    ports: Any = SimpleNamespace(clock=system.clock)

    with pytest.raises(NotInAudience):
        _check_audience(snapshot, User("ann"), state, ports)
    system.pass_time(1)
    _check_audience(snapshot, User("ann"), state, ports)


@pytest.mark.parametrize("claim", ["_gold silver]", "[gold silver"])
def test_a_claim_with_an_unclosed_bracket_is_not_a_list(claim: str) -> None:
    assert not meets((("tier", ("gold",)),), {"tier": claim})
    assert meets((("tier", ("gold",)),), {"tier": "[gold silver]"})


# ---- reconciliation


def test_each_transfer_without_a_statement_line_is_reported(town: PaymentSystem) -> None:
    for _ in range(2):
        town.withdraw("user", 100)
    town.dispatch()
    town.system.pass_time(LEASE_MS)
    town.sweep()

    assert len(check_outside(town.system.ledger_state().outside, [])) == 2


# ---- events


def test_the_pause_of_a_failing_receiver_is_reported_once() -> None:
    events = EventSystem()
    receiver = events.receiver("host")
    receiver.answers = lambda _: FAILED
    packet = events.system.send(count=10)
    for number in range(10):
        events.system.grab(packet, f"user-{number}")
    events.run()

    for _ in range(20):
        events.clock.sleep_ms(60_000)
        events.retry()

    assert events.process().find_webhook("host").failure_count > FAILURES_MAX
    assert events.system.logger.events.count("webhook_paused") == 1


def test_a_success_is_stored_and_ends_the_count_of_failures() -> None:
    events = EventSystem()
    receiver = events.receiver("host")
    receiver.answers = lambda _: FAILED
    packet = events.system.send(count=1)
    events.run()
    receiver.answers = lambda _: OK
    events.system.grab(packet, "ann")
    events.system.settle()

    events.run()

    webhook = events.process().find_webhook("host")
    assert webhook.failure_count == 0
    assert webhook.last_success
    assert webhook.last_success.status == OK


def test_an_approval_expires_to_the_millisecond() -> None:
    change = approvals.DepositAsked("ann", 1, "key", "body")
    approval = approvals.Approval("id", a_person("operator"), (), change, NOW_MS)

    for age_ms, status in (
        (approvals.LIFE_MS - 1, approvals.ApprovalStatus.AWAITING),
        (approvals.LIFE_MS, approvals.ApprovalStatus.EXPIRED),
    ):
        assert approval.status_at(NOW_MS + age_ms) is status


def test_a_move_from_a_window_ago_no_longer_counts() -> None:
    allowance = allowances.Allowance("operator", "user:ann").spent(1000, NOW_MS)

    later = allowance.spent(1, NOW_MS + allowances.WINDOW_MS)

    assert later.sums == ((NOW_MS + allowances.WINDOW_MS, 1),)


def test_a_draft_is_published_at_its_start() -> None:
    draft = a_campaign(status=CampaignStatus.OFF, starts_at_ms=NOW_MS)

    check_is_published(draft, NOW_MS)
    with pytest.raises(CampaignNotFound):
        check_is_published(draft, NOW_MS - 1)


def test_a_payment_is_ordered_again_after_its_pause_and_before_its_end(
    town: PaymentSystem,
) -> None:
    payment = town.start("user", 100)
    begin_ms, end_ms = payment.created_at_ms, payment.expires_at_ms
    ordered = replace(payment, ordered_at_ms=begin_ms + 500, status=PaymentStatus.PENDING)

    assert [may_order(ordered, begin_ms + 500 + wait_ms) for wait_ms in (499, 500)] == [False, True]
    assert [may_order(ordered, at_ms) for at_ms in (end_ms - 1, end_ms)] == [True, False]
    assert not may_order(replace(ordered, is_ended=True), end_ms - 1)


def test_a_closed_payment_is_watched_to_the_millisecond(town: PaymentSystem) -> None:
    payment = town.start("user", 100)
    closed = replace(payment, closed_at_ms=NOW_MS, status=PaymentStatus.CLOSED)

    assert next_look_ms(closed, NOW_MS + WATCHED_MS - 1)
    assert next_look_ms(closed, NOW_MS + WATCHED_MS) is None
    end_ms = payment.expires_at_ms
    assert next_look_ms(payment, end_ms - 1) == end_ms
    later_ms = next_look_ms(payment, end_ms)
    assert later_ms
    assert later_ms > end_ms


def test_outside_movements_are_late_after_their_bound_and_not_before(town: PaymentSystem) -> None:
    payment = town.start("user", 100)
    unlisted = replace(payment, is_listed=False)
    closed = replace(unlisted, closed_at_ms=NOW_MS, status=PaymentStatus.CLOSED)
    end_ms, watched_ms = payment.expires_at_ms + 50, NOW_MS + WATCHED_MS - CLOCKS_DIFFER_MS

    def told(first: Payment, now_ms: int) -> list[str]:
        return [difference.what for difference in check_outside_in_time([first], now_ms, 50)]

    assert [told(payment, now_ms) for now_ms in (end_ms, end_ms + 1)] == [[], ["closed by"]]
    assert told(closed, watched_ms - 1) == ["in its work list"]
    assert told(closed, watched_ms) == []


def test_an_unpaid_packet_is_canceled_when_its_payment_expires(
    town: PaymentSystem,
) -> None:
    packet = town.send_unpaid()
    town.start_packet(packet)
    left_ms = packet.created_at_ms + PAYMENT_LIFE_MS - town.clock.now_ms()

    town.sweep_after(left_ms - 1)
    assert town.system.stored(packet).status is PacketStatus.UNPAID
    town.sweep_after(1)

    assert town.system.stored(packet).status is PacketStatus.CANCELLED


def test_an_unreadable_unpaid_packet_waits_a_minute(town: PaymentSystem) -> None:
    packet = town.send_unpaid()
    town.system.row("packets", keys.packet(packet.packet_id))["terms"] = {"S": "nonsense"}

    report = town.sweep_after(PAYMENT_LIFE_MS)
    seen_ms = town.clock.now_ms() - PAYMENT_LIFE_MS

    assert report.failed_count == 1
    assert town.system.work.list_unpaid(seen_ms + AGAIN_MS - 1, 800) == []
    assert town.system.work.list_unpaid(seen_ms + AGAIN_MS, 800) == [packet.packet_id]


def test_a_split_is_possible_at_its_bounds() -> None:
    terms = some_terms(1000, 4)

    check_possible(replace(terms, share_fen_min=250))
    check_possible(replace(terms, share_fen_max=250))
    for impossible in (replace(terms, share_fen_min=251), replace(terms, share_fen_max=249)):
        with pytest.raises(SplitImpossible):
            check_possible(impossible)


def test_only_claims_that_stay_unpaid_are_returned_from_a_batch() -> None:
    packet = a_packet(count=2)
    paid, stuck = (a_claim(packet, number, f"user-{number}") for number in (1, 2))
    settle = Mock(side_effect=[{stuck.ref}, {stuck.ref}, set()])
    ports: Any = SimpleNamespace(
        ledger=SimpleNamespace(settle=settle), clock=SimpleNamespace(now_ms=lambda: NOW_MS)
    )

    assert _pay([paid, stuck], ports) == {stuck.ref}
    assert settle.call_count == 3


def test_a_single_claim_that_stays_unpaid_is_not_retried() -> None:
    stuck = a_claim(a_packet(count=1), 1, "user-1")
    settle = Mock(return_value={stuck.ref})
    ports: Any = SimpleNamespace(
        ledger=SimpleNamespace(settle=settle), clock=SimpleNamespace(now_ms=lambda: NOW_MS)
    )

    assert _pay([stuck], ports) == {stuck.ref}
    assert settle.call_count == 1
