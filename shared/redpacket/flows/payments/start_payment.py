"""Start a payment: a durable intent first, then the order at the gateway under its number.

Whatever is cut off after the intent is harmless: the same number is ordered again by the repeat, or
by the next request for the payment, and an intent that is not paid is closed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

from redpacket.domain.errors import PayeeNotBound, PaymentNotFound, Unavailable
from redpacket.domain.gateway import Channel, OutsideAccount, PayMethod
from redpacket.domain.packet import Packet, PacketStatus
from redpacket.domain.payments import PAYMENT_LIFE_MS, Payment, PaymentStatus
from redpacket.flows.payments.payment_ports import PaymentPorts
from redpacket.ports.accounts import Request
from redpacket.ports.withdrawals import Payees


@dataclass(frozen=True, slots=True)
class PaymentAsk:
    """What a user asks for; *payer* is their account at the gateway, None where none is bound."""

    user_id: str
    amount_fen: int
    channel: Channel
    method: PayMethod
    payer: OutsideAccount | None
    request: Request


def start_payment(ask: PaymentAsk, *, ports: PaymentPorts) -> Payment:
    """Return the payment that this request made, now or before; without a prompt while unknown.

    Raises ChannelUnavailable, PayeeNotBound, RateLimited, IdempotencyKeyReused, Busy, Unavailable.
    """
    ports.gateway(ask.channel)
    payer = _payer(ask.method, ask.payer)
    now_ms = ports.clock.now_ms()
    payment = Payment(
        number=ports.new_number(),
        user_id=ask.user_id,
        amount_fen=ask.amount_fen,
        channel=ask.channel,
        method=ask.method,
        payer=payer,
        created_at_ms=now_ms,
        expires_at_ms=now_ms + PAYMENT_LIFE_MS,
    )
    number = ports.book.put(payment, ask.request, ports.limits)
    if number != payment.number:
        payment = _get(number, ports)
    return prompt_payment(payment, ports=ports)


def start_packet_payment(
    packet: Packet,
    channel: Channel,
    method: PayMethod,
    payer: OutsideAccount | None,
    *,
    ports: PaymentPorts,
) -> Payment:
    """Return the payment of a packet that is to be paid; its number stands in the packet's row.

    Raises as `start_payment`, and PaymentNotFound for a packet that no payment funds.
    """
    ports.gateway(channel)
    if packet.payment_id is None:
        raise PaymentNotFound("the packet was not to be paid for")
    found = ports.book.find(packet.payment_id)
    if found is None:
        if packet.status is not PacketStatus.UNPAID:
            raise PaymentNotFound("no payment was begun for the packet, and it is over")
        intent = Payment(
            number=packet.payment_id,
            user_id=packet.sender.user_id,
            amount_fen=packet.terms.total_fen,
            channel=channel,
            method=method,
            payer=_payer(method, payer),
            created_at_ms=ports.clock.now_ms(),
            expires_at_ms=packet.created_at_ms + PAYMENT_LIFE_MS,
            packet_id=packet.packet_id,
        )
        found = ports.book.put_of_packet(intent, ports.limits)
    return prompt_payment(found, ports=ports)


def find_payment(number: str, user_id: str, *, ports: PaymentPorts, payees: Payees) -> Payment:
    """Return a user's own payment; one whose order was cut off is ordered now.

    So is that of a packet whose sender's request was cut off before its intent. Raises
    PaymentNotFound, and for such a packet what `start_packet_payment` raises.
    """
    payment = ports.book.find(number)
    if payment is None:
        return _start_cut_off(number, user_id, ports=ports, payees=payees)
    if payment.user_id != user_id:
        raise PaymentNotFound("no such payment")
    return prompt_payment(payment, ports=ports)


def _start_cut_off(number: str, user_id: str, *, ports: PaymentPorts, payees: Payees) -> Payment:
    """Begin the payment of a packet that waits for it, as its sender asked for it."""
    packet = ports.packets.find_packet_of_payment(number)
    if packet is None or packet.sender.user_id != user_id or not packet.pay_channel:
        raise PaymentNotFound("no such payment")
    channel, method = Channel(packet.pay_channel), PayMethod(packet.pay_method)
    payee = payees.find(user_id, channel)
    payer = payee.account if payee else None
    return start_packet_payment(packet, channel, method, payer, ports=ports)


def prompt_payment(payment: Payment, *, ports: PaymentPorts) -> Payment:
    """Return a payment with what its payer's client needs, if the gateway tells it now."""
    is_open = payment.status is PaymentStatus.PENDING
    if payment.prompt or not is_open or ports.clock.now_ms() >= payment.expires_at_ms:
        return payment
    try:
        prompt = ports.gateway(payment.channel).order(payment.order)
    except Unavailable as error:
        # The order may be there or not: the same number is ordered by the next who asks.
        ports.journal.failure("payment_not_ordered", error, number=payment.number)
        return payment
    if prompt is None:
        return payment
    text = json.dumps(dict(prompt), ensure_ascii=False, sort_keys=True)
    ports.book.keep_prompt(payment.number, text)
    return replace(payment, prompt=text)


def _payer(method: PayMethod, payer: OutsideAccount | None) -> OutsideAccount | None:
    """Return whom a payment is compared with: only a client inside of the app is known before."""
    if method is PayMethod.JSAPI and payer is None:
        raise PayeeNotBound("bind your account at the gateway first")
    return payer if method is PayMethod.JSAPI else None


def _get(number: str, ports: PaymentPorts) -> Payment:
    payment = ports.book.find(number)
    if payment is None:
        raise Unavailable(f"a request made payment {number}, which can't be read")
    return payment
