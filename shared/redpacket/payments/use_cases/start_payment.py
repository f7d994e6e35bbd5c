"""Payment start: storing a durable intent, then ordering at the provider under the intent's number.

After a crash, the next request repeats the order under this number. The sweep closes an unpaid
intent.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

from redpacket.ledger.provider_name import ProviderName
from redpacket.packets.model.packet import Packet, PacketStatus
from redpacket.payments.errors import PayeeNotBound, PaymentNotFound, ProviderChanged
from redpacket.payments.model.payments import PAYMENT_LIFE_MS, Payment, PaymentStatus, may_order
from redpacket.payments.model.provider import ExternalAccount, PayMethod
from redpacket.payments.ports import Payees
from redpacket.payments.use_cases.dependencies import PaymentPorts
from redpacket.platform.errors import Unavailable
from redpacket.platform.idempotency import Request


@dataclass(frozen=True, slots=True)
class PaymentAsk:
    """A user's payment request."""

    user_id: str
    amount_fen: int
    channel: ProviderName
    method: PayMethod
    request: Request


def start_payment(ask: PaymentAsk, *, payees: Payees, ports: PaymentPorts) -> Payment:
    """Return the request's payment; the prompt is missing while the order's outcome is unknown.

    Raises ChannelUnavailable, PayeeNotBound, RateLimited, IdempotencyKeyReused, Busy, Unavailable,
    and Forbidden for a campaign account.
    """
    provider = ports.provider(ask.channel)
    ports.fix_unit()
    payer = _payer(ask.user_id, ask.channel, ask.method, payees)
    now_ms = ports.clock.now_ms()
    payment = Payment(
        number=ask.request.id_of("payment"),
        user_id=ask.user_id,
        amount_fen=ask.amount_fen,
        channel=ask.channel,
        method=ask.method,
        payer=payer,
        created_at_ms=now_ms,
        expires_at_ms=now_ms + PAYMENT_LIFE_MS,
        merchant=provider.merchant,
    )
    if first := ports.repository.put(payment, ask.request, ports.per_day_max):
        payment = _get(first, ports)
    return prompt_payment(payment, ports=ports)


def start_packet_payment(
    packet: Packet,
    channel: ProviderName,
    method: PayMethod,
    *,
    payees: Payees,
    ports: PaymentPorts,
) -> Payment:
    """Return an unpaid packet's payment, with the number from the packet's row.

    Raises the errors of `start_payment`, and PaymentNotFound for a packet that no payment funds.
    """
    provider = ports.provider(channel)
    if packet.payment_id is None:
        raise PaymentNotFound("This packet was funded from the balance and has no payment.")
    payment = ports.repository.find(packet.payment_id)
    if payment is None:
        if packet.status is not PacketStatus.UNPAID:
            raise PaymentNotFound("This packet is no longer unpaid, and it has no payment.")
        ports.fix_unit()
        intent = Payment(
            number=packet.payment_id,
            user_id=packet.sender.user_id,
            amount_fen=packet.terms.total_fen,
            channel=channel,
            method=method,
            payer=_payer(packet.sender.user_id, channel, method, payees),
            created_at_ms=ports.clock.now_ms(),
            expires_at_ms=packet.created_at_ms + PAYMENT_LIFE_MS,
            packet_id=packet.packet_id,
            merchant=provider.merchant,
        )
        payment = ports.repository.put_of_packet(intent, ports.per_day_max)
    return prompt_payment(payment, ports=ports)


def find_payment(number: str, user_id: str, *, ports: PaymentPorts, payees: Payees) -> Payment:
    """Return a user's payment; order it now if a crash prevented the order.

    Raises PaymentNotFound and, for a packet's payment, the errors of `start_packet_payment`.
    """
    payment = ports.repository.find(number)
    if payment is None:
        return _start_cut_off(number, user_id, ports=ports, payees=payees)
    if payment.user_id != user_id:
        raise PaymentNotFound
    return prompt_payment(payment, ports=ports)


def close_order(number: str, *, ports: PaymentPorts) -> None:
    """Close the order of a packet that its sender ends; a later payment is still credited.

    Raises Unavailable, or ProviderChanged if the provider is no longer configured.
    """
    payment, now_ms = ports.repository.find(number), ports.clock.now_ms()
    if payment is None or payment.status is not PaymentStatus.PENDING:
        return
    if payment.ordered_at_ms or not ports.repository.close(payment, now_ms, None):
        # Expire the payment first, so that a retry of the send cannot order it again.
        ports.repository.expire(number, now_ms)
        ports.provider_of(payment).close(number)


def _start_cut_off(number: str, user_id: str, *, ports: PaymentPorts, payees: Payees) -> Payment:
    packet = ports.packets.find_packet_of_payment(number)
    if packet is None or packet.sender.user_id != user_id or not packet.pay_channel:
        raise PaymentNotFound
    channel, method = ProviderName(packet.pay_channel), PayMethod(packet.pay_method)
    return start_packet_payment(packet, channel, method, payees=payees, ports=ports)


def prompt_payment(payment: Payment, *, ports: PaymentPorts) -> Payment:
    """Return a payment with the prompt for its payer's client, if the provider answers now."""
    now_ms = ports.clock.now_ms()
    kept = ports.prompts.open_text(payment.prompt, payment.number)
    payment = replace(payment, prompt=kept or "")
    if kept or not may_order(payment, now_ms):
        return payment
    try:
        provider = ports.provider_of(payment)
        is_mine = ports.repository.begin_order(payment, now_ms)
        prompt = provider.order(payment.order) if is_mine else None
    except (Unavailable, ProviderChanged) as error:
        # The outcome may be unknown. The next request repeats the order with the same number.
        ports.logger.failure("payment_not_ordered", error, number=payment.number)
        return payment
    if prompt is None:
        return payment
    text = json.dumps(dict(prompt), ensure_ascii=False)
    ports.repository.keep_prompt(payment.number, ports.prompts.seal_text(text, payment.number))
    return replace(payment, prompt=text, ordered_at_ms=now_ms)


def _payer(
    user_id: str, channel: ProviderName, method: PayMethod, payees: Payees
) -> ExternalAccount | None:
    """Return the expected payer, which is known only for in-app payments (JSAPI)."""
    if method is not PayMethod.JSAPI:
        return None
    payee = payees.find(user_id, channel)
    if payee is None:
        raise PayeeNotBound
    return payee.account


def _get(number: str, ports: PaymentPorts) -> Payment:
    payment = ports.repository.find(number)
    if payment is None:
        raise Unavailable(f"the request's payment {number} cannot be read")
    return payment
