from dataclasses import replace
from unittest.mock import Mock

import pytest

from redpacket.ledger.provider_name import ProviderName
from redpacket.packets.model.packet import Packet, PacketStatus
from redpacket.packets.use_cases.order_payment import order_payment
from redpacket.payments.dynamodb.payments import DynamoPayments
from redpacket.payments.errors import PayeeNotBound, PaymentNotFound, ProviderChanged
from redpacket.payments.model.payments import PAYMENT_LIFE_MS, Payment, PaymentStatus
from redpacket.payments.model.provider import (
    PaymentOrder,
    PayMethod,
    statement_day,
    statement_day_start_ms,
)
from redpacket.payments.use_cases.start_payment import find_payment, prompt_payment
from redpacket.platform.errors import RateLimited, Unavailable
from redpacket.platform.user import User
from testing.builders import a_packet
from testing.in_memory_system import an_order
from testing.payments.fake_gateway import FakePaymentsIn
from testing.payments.payment_system import PaymentSystem

DAY_MS = 24 * 3_600_000


def _find(town: PaymentSystem, number: str | None, user_id: str = "sender") -> Payment:
    assert number
    return find_payment(number, user_id, ports=town.payments, payees=town.payees)


def test_an_ended_packet_is_not_ordered_again_by_a_late_clock(town: PaymentSystem) -> None:
    packet = town.send_unpaid()
    town.gateway.is_away = True
    town.start_packet(packet)
    town.gateway.is_away = False
    town.system.pass_time(60_000)
    town.end_packet(packet)
    town.clock.at_ms -= 30_000

    again = town.start_packet(packet)
    stale = replace(again, is_ended=False)

    assert again.prompt == ""
    # A request that read the row before the end also starts no order.
    assert not town.repository.begin_order(stale, town.clock.now_ms())
    assert town.gateway.orders == {}


def test_the_prompt_of_another_payment_is_not_shown(town: PaymentSystem) -> None:
    mallorys = town.start("mallory", 500, method=PayMethod.NATIVE)
    alices = town.start("alice", 500, key="again", method=PayMethod.NATIVE)
    town.repository.keep_prompt(alices.number, town.paid(mallorys).prompt)

    again = town.start("alice", 500, key="again", method=PayMethod.NATIVE)

    assert mallorys.number not in again.prompt
    assert again.prompt == alices.prompt


def test_the_payments_that_a_user_can_start_in_a_day_are_limited(town: PaymentSystem) -> None:
    town.payments_per_day_max = 2
    first, _ = town.start(key="one"), town.start(key="two")

    with pytest.raises(RateLimited) as refused:
        town.start(key="three")

    day_ends_ms = statement_day_start_ms(statement_day(town.clock.now_ms())) + DAY_MS
    wait_s = -(-(day_ends_ms - town.clock.now_ms()) // 1000)
    assert refused.value.retry_after_s == wait_s
    assert len(town.gateway.orders) == 2
    assert town.start(key="one").number == first.number
    assert town.start("other", key="three").prompt
    town.system.pass_time(wait_s * 1000)
    assert town.start(key="three").prompt


# ---- a provider that does not answer


def test_repeated_requests_for_a_payment_do_not_order_it_each_time(
    town: PaymentSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    ordered_at_ms: list[int] = []

    def order(_gate: FakePaymentsIn, _order: PaymentOrder) -> None:
        ordered_at_ms.append(town.clock.now_ms())
        raise Unavailable("the gateway does not answer")

    monkeypatch.setattr(FakePaymentsIn, "order", order)
    payment = town.start("user")
    for _ in range(200):
        town.system.pass_time(100)
        _find(town, payment.number, "user")

    begun_ms = ordered_at_ms[0]
    # The next request retries at once; then the waits double, up to five seconds.
    assert [at_ms - begun_ms for at_ms in ordered_at_ms] == [
        *(0, 100, 200, 400, 800, 1_600, 3_200, 6_400, 11_400, 16_400)
    ]


def test_one_of_two_concurrent_requests_orders(town: PaymentSystem) -> None:
    town.gateway.is_away = True
    payment = town.paid(town.start("user"))
    now_ms = town.clock.now_ms() + 1

    assert town.repository.begin_order(payment, now_ms)
    assert not town.repository.begin_order(payment, now_ms)
    assert town.paid(payment).ordered_at_ms == now_ms
    # A request that read the payment earlier does not send the order again.
    town.gateway.is_away = False
    town.system.pass_time(10_000)
    assert not prompt_payment(payment, ports=town.payments).prompt
    assert town.gateway.orders == {}


# A start that is killed after the payment is stored, before the provider gets the order.


def test_a_payment_that_was_never_ordered_ends_without_its_gateway(
    town: PaymentSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    payment = _start_and_die(town, monkeypatch)
    town.gateway.is_away, town.gates_in = True, {}
    town.sweep_after(PAYMENT_LIFE_MS)

    assert town.paid(payment).status is PaymentStatus.CLOSED
    assert town.repository.list_waiting(ProviderName.WECHAT, town.clock.now_ms() + DAY_MS, 10) == []


@pytest.mark.parametrize(("age_ms", "hint"), [(PAYMENT_LIFE_MS - 1, ""), (PAYMENT_LIFE_MS, "tx")])
def test_a_payment_without_its_gateway_stays_while_it_lives_or_a_callback_names_its_money(
    town: PaymentSystem, monkeypatch: pytest.MonkeyPatch, age_ms: int, hint: str
) -> None:
    payment = _start_and_die(town, monkeypatch)
    town.gates_in = {}
    town.clock.at_ms = payment.created_at_ms + age_ms

    with pytest.raises(ProviderChanged):
        town.confirm(payment, hint)

    assert town.paid(payment).status is PaymentStatus.PENDING


def test_a_payment_whose_order_began_meanwhile_is_not_closed_without_its_gateway(
    town: PaymentSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = _start_and_die(town, monkeypatch)
    assert town.confirm(seen).status is PaymentStatus.PENDING
    assert town.repository.begin_order(seen, town.clock.now_ms())

    assert not town.repository.close(seen, town.clock.now_ms(), None)
    assert town.paid(seen).status is PaymentStatus.PENDING


def test_a_callback_is_followed_regardless_of_the_order_in_the_row(
    town: PaymentSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    payment = _start_and_die(town, monkeypatch)
    town.gates_in[ProviderName.WECHAT].order(payment.order)
    paid = town.gateway.pay(payment.number)
    assert paid
    town.system.pass_time(PAYMENT_LIFE_MS)

    assert town.confirm(payment, paid.transaction_id).status is PaymentStatus.PAID


def _start_and_die(town: PaymentSystem, monkeypatch: pytest.MonkeyPatch) -> Payment:
    with monkeypatch.context() as patch:
        patch.setattr(DynamoPayments, "begin_order", lambda *_: False)
        payment = town.paid(town.start("user"))
    assert payment.ordered_at_ms == 0
    return payment


# A send that is killed just after it wrote the packet's row.


def test_the_payment_of_an_interrupted_send_begins_on_request(
    town: PaymentSystem,
) -> None:
    packet = town.send_unpaid(total_fen=1000, count=4)

    payment = _find(town, packet.payment_id)
    again = _find(town, packet.payment_id)
    town.gateway.pay(payment.number)
    town.confirm(payment)

    assert (payment.packet_id, payment.amount_fen) == (packet.packet_id, 1000)
    assert (payment.channel, payment.method) == (ProviderName.WECHAT, PayMethod.JSAPI)
    assert payment.prompt
    assert again == payment
    assert town.system.stored(packet).status is PacketStatus.OPEN
    assert town.differences() == []


@pytest.mark.parametrize(
    ("number", "host_id"), [("pp1", "ann@host"), (None, "ann@host"), ("pp1", None)]
)
def test_a_payment_is_ordered_for_a_payer_with_an_account_at_the_host(
    number: str | None, host_id: str | None
) -> None:
    payments, sender = Mock(), User("ann", host_id=host_id)

    prompt = order_payment(a_packet(payment_id=number), sender, payments=payments, logger=Mock())

    expected = payments.order("pp1", "ann@host") if number and host_id else None
    assert (prompt, payments.order.call_count) == (expected, 2 if expected else 0)


def test_an_order_without_an_answer_leaves_the_packet_and_is_logged() -> None:
    payments, logger = Mock(), Mock()
    payments.order.side_effect = Unavailable("no answer")
    sender = User("ann", host_id="ann@host")

    prompt = order_payment(a_packet(payment_id="pp1"), sender, payments=payments, logger=logger)

    assert prompt is None
    assert logger.failure.call_args.args[0] == "payment_not_ordered"


def test_only_the_sender_can_start_the_payment_of_a_packet(town: PaymentSystem) -> None:
    packet = town.send_unpaid("sender")

    for number, user_id in ((packet.payment_id, "thief"), ("unknown", "sender")):
        with pytest.raises(PaymentNotFound):
            _find(town, number, user_id)

    assert town.gateway.orders == {}


def test_a_payment_of_another_user_is_not_found(town: PaymentSystem) -> None:
    payment = town.start("user")

    with pytest.raises(PaymentNotFound):
        _find(town, payment.number, "thief")

    assert _find(town, payment.number, "user") == payment


def test_a_user_without_an_account_is_told_to_bind_one(town: PaymentSystem) -> None:
    packet = town.send_unpaid()
    town.payees.bound["sender"] = None

    with pytest.raises(PayeeNotBound):
        _find(town, packet.payment_id)
    del town.payees.bound["sender"]

    assert _find(town, packet.payment_id).prompt


def test_a_native_payment_of_a_packet_needs_no_account(town: PaymentSystem) -> None:
    town.payees.bound["sender"] = None
    packet = _sent(town, pay_channel="wechat", pay_method="native")

    payment = _find(town, packet.payment_id)

    assert (payment.method, payment.payer) == (PayMethod.NATIVE, None)


def test_no_payment_starts_for_a_canceled_packet(town: PaymentSystem) -> None:
    packet = town.send_unpaid()
    town.sweep_after(PAYMENT_LIFE_MS + 60_000)

    with pytest.raises(PaymentNotFound):
        _find(town, packet.payment_id)

    assert town.gateway.orders == {}


def test_a_packet_without_a_payment_method_waits_for_its_sender(
    town: PaymentSystem,
) -> None:
    packet = _sent(town)

    with pytest.raises(PaymentNotFound):
        _find(town, packet.payment_id)

    assert town.start_packet(packet).status is PaymentStatus.PENDING


def _sent(town: PaymentSystem, **changes: str) -> Packet:
    order = replace(an_order(), payment_id="pp" + "7" * 30, **changes)  # type: ignore[arg-type]
    return town.system.send_order(order)


def test_a_payment_that_was_never_ordered_is_closed_once(
    town: PaymentSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = _start_and_die(town, monkeypatch)

    assert town.repository.close(seen, town.clock.now_ms(), None)
    assert not town.repository.close(seen, town.clock.now_ms(), None)


def test_payments_of_packets_also_count_and_a_repeat_does_not(town: PaymentSystem) -> None:
    town.payments_per_day_max = 1
    first, second = town.send_unpaid("user"), town.send_unpaid("user")
    payments = [town.start_packet(first) for _ in range(2)]

    with pytest.raises(RateLimited):
        town.start_packet(second)

    assert payments[0].number == payments[1].number
    assert second.payment_id
    assert town.repository.find(second.payment_id) is None
