"""Automatic payouts of balances above the threshold, from the queue of claims to the provider."""

from dataclasses import replace
from functools import partial

import pytest

from redpacket.ledger.provider_name import ProviderName
from redpacket.packets.model.claim import ShareRef
from redpacket.packets.model.packet import Packet
from redpacket.payments.model.provider import ProviderEvent, ProviderEventKind
from redpacket.payments.model.withdrawals import WithdrawalStatus
from redpacket.payments.use_cases.authorize import authorize
from redpacket.payments.use_cases.handle_callback import follow_notice
from redpacket.payments.use_cases.trigger_auto_payouts import trigger_auto_payouts
from testing.payments.fake_gateway import FakeNoticeQueue, an_account
from testing.payments.payment_system import PaymentSystem

WECHAT = ProviderName.WECHAT


class _Killed(BaseException):
    """Crash of a function."""


@pytest.fixture
def queue() -> FakeNoticeQueue:
    return FakeNoticeQueue()


@pytest.fixture
def town() -> PaymentSystem:
    town = PaymentSystem()
    town.settings = replace(town.settings, above_fen=200)
    town.accounts.bind("taker", WECHAT, an_account("taker"), town.clock.now_ms())
    _agree(town)
    return town


def _agree(town: PaymentSystem) -> None:
    authorization = authorize("taker", WECHAT, "Taker", ports=town.authorizations)
    town.gateway.agree(authorization.number)
    town.follow(ProviderEvent(ProviderEventKind.AUTHORIZATION, "notice", authorization.number))


def _packet(town: PaymentSystem) -> Packet:
    """Send a packet with one share of 1,000 fen, and claim the share."""
    packet = town.system.send(total_fen=1000, count=1)
    town.system.grab(packet, "taker")
    return packet


def _settle(town: PaymentSystem, queue: FakeNoticeQueue, refs: list[ShareRef]) -> set[ShareRef]:
    process = town.system.process()
    process.announce_claims = partial(trigger_auto_payouts, channels=[WECHAT], queue=queue)
    return process.settle_or_delay(refs, is_on=process.stored_switches.is_on)


def test_a_claim_is_paid_out_automatically(town: PaymentSystem, queue: FakeNoticeQueue) -> None:
    packet = _packet(town)

    failed = _settle(town, queue, town.system.queue.take_all())
    (notice,) = queue.notices
    town.follow(notice)
    town.dispatch()
    town.sweep_after(60_000)

    (made,), _ = town.withdrawals.list_of_user("taker", None, 10)
    assert failed == set()
    assert (notice.kind, notice.number) == (ProviderEventKind.BALANCE, "taker")
    assert packet.packet_id in notice.outside_no
    assert (made.status, made.amount_fen) == (WithdrawalStatus.PAID, 1000)
    assert town.balance_fen("taker") == 0
    assert town.differences() == []


def test_a_batch_has_one_notice_for_each_claimer(
    town: PaymentSystem, queue: FakeNoticeQueue
) -> None:
    for _ in range(2):
        _packet(town)
    town.system.grab(town.system.send(total_fen=100, count=1), "other")

    _settle(town, queue, town.system.queue.take_all())

    assert sorted(notice.number for notice in queue.notices) == ["other", "taker"]


def test_a_claim_that_cannot_be_announced_is_retried_and_paid_once(
    town: PaymentSystem, queue: FakeNoticeQueue
) -> None:
    _packet(town)
    refs = town.system.queue.take_all()
    queue.is_away = True

    failed = _settle(town, queue, refs)
    queue.is_away = False
    again = _settle(town, queue, sorted(failed, key=lambda ref: ref.name))

    assert failed == set(refs)
    assert again == set()
    assert town.balance_fen("taker") == 1000
    assert [notice.number for notice in queue.notices] == ["taker"]


def test_a_killed_function_pays_out_once_for_a_cause(
    town: PaymentSystem, queue: FakeNoticeQueue
) -> None:
    _packet(town)
    refs = town.system.queue.take_all()
    # Deliver the claims twice; handle the first notice with a crash; deliver each notice twice.
    for _ in range(2):
        _settle(town, queue, refs)
    promised = town.withdrawals.promise

    def killed(withdrawal_id: str, expected_at_ms: int) -> None:
        raise _Killed(f"{withdrawal_id} {expected_at_ms}")

    town.withdrawals.promise = killed  # type: ignore[method-assign]
    with pytest.raises(_Killed):
        town.follow(queue.notices[0])
    town.withdrawals.promise = promised  # type: ignore[method-assign]
    town.system.deposit("taker", 500)

    for notice in queue.notices * 2:
        town.follow(notice)

    made, _ = town.withdrawals.list_of_user("taker", None, 10)
    assert len(queue.notices) == 2
    assert [withdrawal.amount_fen for withdrawal in made] == [1000]
    assert town.balance_fen("taker") == 500
    assert town.differences() == []


def test_a_balance_is_paid_out_once_withdrawals_are_on_again(
    town: PaymentSystem, queue: FakeNoticeQueue
) -> None:
    _packet(town)
    _settle(town, queue, town.system.queue.take_all())

    for notice in queue.notices:
        follow_notice(
            WECHAT,
            notice,
            payments=town.payments,
            withdrawals=town.transfers,
            authorizations=town.authorizations,
            queue=town.notices,
            may_withdraw=lambda: False,
        )
    balance_while_off_fen = town.balance_fen("taker")
    for notice in town.notices.notices:
        town.follow(notice)

    assert balance_while_off_fen == 1000
    assert set(town.notices.delays_s) == {900}
    assert town.balance_fen("taker") == 0


def test_a_notice_of_a_user_without_an_account_leaves_the_balance(
    town: PaymentSystem, queue: FakeNoticeQueue
) -> None:
    town.system.deposit("stranger", 500)

    town.follow(ProviderEvent(ProviderEventKind.BALANCE, "balance:cause", "stranger", "cause"))

    assert town.balance_fen("stranger") == 500
    assert queue.notices == []
