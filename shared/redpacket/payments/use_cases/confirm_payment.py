"""Payment confirmation: querying the provider and crediting a transaction once, by OUR number.

Callbacks, schedules, and statements all lead here; none of them is trusted alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from redpacket.ledger.model import Transfer
from redpacket.packets.model.packet import Packet, PacketStatus
from redpacket.packets.use_cases.own_pictures import keep_cover
from redpacket.packets.use_cases.send_packet import funding_of
from redpacket.payments.errors import PaymentNotFound, ProviderChanged
from redpacket.payments.model.payments import (
    Payment,
    PaymentReturn,
    PaymentStatus,
    ReturnReason,
    ReturnStatus,
    mismatches,
    next_look_ms,
)
from redpacket.payments.model.provider import OrderFound, OrderState, Transaction
from redpacket.payments.use_cases.dependencies import PaymentPorts
from redpacket.platform.errors import InvariantViolated, Unavailable

_TRIES = 4


def confirm_payment(number: str, transaction_id: str = "", *, ports: PaymentPorts) -> Payment:
    """Update a payment from the provider; *transaction_id* is an untrusted hint.

    Raises PaymentNotFound, ProviderChanged, Unavailable.
    """
    payment = _get(number, ports)
    now_ms = ports.clock.now_ms()
    is_over = payment.status is PaymentStatus.PENDING and now_ms >= payment.expires_at_ms
    try:
        provider = ports.provider_of(payment)
    except ProviderChanged:
        if not is_over or payment.ordered_at_ms or transaction_id:
            raise
        # The provider was never called for this payment, so closing the payment moves no money.
        ports.repository.close(payment, now_ms, None)
        return _get(number, ports)
    order = provider.query(number)
    taken = list(order.transactions)
    if transaction_id and all(returned.transaction_id != transaction_id for returned in taken):
        named = provider.query_transaction(transaction_id)
        # The hint could name another order's transaction.
        taken += [named] if named and named.number == number else []
    for transaction in taken:
        payment = _take(payment, transaction, ports)
    return _proceed(payment, order, ports)


def _take(payment: Payment, transaction: Transaction, ports: PaymentPorts) -> Payment:
    for _ in range(_TRIES):
        if payment.transaction_id == transaction.transaction_id:
            return payment
        packet = ports.packets.find_packet(payment.packet_id) if payment.packet_id else None
        reason = _reason_against(payment, transaction, packet, ports)
        if reason:
            return _send_back(payment, transaction, reason, ports)
        now_ms = ports.clock.now_ms()
        funding = _funding(packet, now_ms)
        if ports.repository.credit(payment, transaction, now_ms, funding=funding):
            if funding:
                _keep_cover(funding[0], ports)
            elif payment.packet_id:
                ports.logger.event("payment_came_late", number=payment.number)
            return _get(payment.number, ports)
        if ports.returns.find_return(payment.number, transaction.transaction_id):
            return payment
        payment = _get(payment.number, ports)
    raise Unavailable(f"payment {payment.number} is being updated concurrently")


def _keep_cover(packet: Packet, ports: PaymentPorts) -> None:
    try:
        keep_cover(packet, ports.pictures)
    except Unavailable as error:
        # The sweep keeps the picture when it loads the packet.
        ports.logger.failure("packet_not_loaded", error, packet_id=packet.packet_id)


def _reason_against(
    payment: Payment, transaction: Transaction, packet: Packet | None, ports: PaymentPorts
) -> ReturnReason | None:
    provider = ports.provider_of(payment)
    wrong = mismatches(payment, transaction, provider.merchant, provider.currency)
    if payment.packet_id and not _is_for(payment, packet):
        wrong.append("packet_id")
    if wrong:
        error = InvariantViolated(f"payment {payment.number} differs in {', '.join(wrong)}")
        ports.logger.failure("payment_mismatched", error, number=payment.number)
        return ReturnReason.MISMATCHED
    if transaction.is_refunded:
        # Only the refunds tell how much was refunded, and each refund may be reported late.
        return ReturnReason.REFUNDED
    if payment.transaction_id:
        ports.logger.event("payment_paid_twice", number=payment.number)
        return ReturnReason.SECOND
    return None


def _send_back(
    payment: Payment, transaction: Transaction, reason: ReturnReason, ports: PaymentPorts
) -> Payment:
    # An operator decides: a mismatched transaction may belong to another payer, and part of a
    # refunded transaction may remain.
    is_listed = reason in {ReturnReason.MISMATCHED, ReturnReason.REFUNDED}
    returned = PaymentReturn(
        number=payment.number,
        transaction_id=transaction.transaction_id,
        amount_fen=transaction.amount_fen,
        reason=reason,
        channel=payment.channel,
        noted_at_ms=ports.clock.now_ms(),
        status=ReturnStatus.LISTED if is_listed else ReturnStatus.DUE,
        merchant=payment.merchant,
    )
    try:
        is_new = ports.returns.put_return(returned, transaction) is returned
    except InvariantViolated:
        # A concurrent query from before the refund may have credited the transaction. The refund
        # then reverses the credit.
        payment = _get(payment.number, ports)
        if (
            reason is not ReturnReason.REFUNDED
            or payment.transaction_id != transaction.transaction_id
        ):
            raise
        return payment
    if is_new and reason is ReturnReason.REFUNDED:
        error = InvariantViolated(f"payment {payment.number} was refunded before it was credited")
        ports.logger.failure("payment_mismatched", error, number=payment.number)
    return payment


def _is_for(payment: Payment, packet: Packet | None) -> bool:
    """Return whether a packet names this payment, its payer and its amount.

    The packet identifies the owner of the money, because the order function can write the payment's
    row. A restore may have lost the packet.
    """
    ours = payment.number, payment.user_id, payment.amount_fen
    return packet is not None and ours == (
        packet.payment_id,
        packet.sender.user_id,
        packet.terms.total_fen,
    )


def _funding(packet: Packet | None, now_ms: int) -> tuple[Packet, Transfer] | None:
    """Return the paid packet and its funding, or None if the payer's balance gets the money."""
    if packet is None or packet.status is not PacketStatus.UNPAID:
        return None
    # A later start that the sender requested stays; otherwise the packet starts now.
    starts_at_ms = max(packet.starts_at_ms, now_ms)
    paid = replace(
        packet,
        status=PacketStatus.OPEN,
        paid_at_ms=now_ms,
        starts_at_ms=starts_at_ms,
        expires_at_ms=starts_at_ms + packet.expires_at_ms - packet.starts_at_ms,
    )
    return paid, funding_of(paid)


def _proceed(payment: Payment, order: OrderFound, ports: PaymentPorts) -> Payment:
    now_ms = ports.clock.now_ms()
    if payment.status is PaymentStatus.PENDING and now_ms >= payment.expires_at_ms:
        payment = _close(payment, order, ports)
    again_at_ms = next_look_ms(payment, now_ms)
    if payment.status is not PaymentStatus.PAID:
        ports.repository.look_again(payment.number, again_at_ms)
    return payment


def _close(payment: Payment, order: OrderFound, ports: PaymentPorts) -> Payment:
    """Close the order at the provider before the payment becomes CLOSED."""
    provider, now_ms = ports.provider_of(payment), ports.clock.now_ms()
    settled_at_ms = payment.expires_at_ms + provider.settling_ms + provider.call_ms_max
    if order.state is OrderState.UNPAID or (
        order.state is OrderState.NOT_FOUND and now_ms < settled_at_ms
    ):
        # A call in flight may still create the order; a later query then finds the order.
        provider.close(payment.number)
        return payment
    if order.state is OrderState.PAID and not _all_known(payment, order.transactions, ports):
        return payment
    closed = replace(payment, status=PaymentStatus.CLOSED, closed_at_ms=now_ms)
    if ports.repository.close(payment, now_ms, next_look_ms(closed, now_ms)):
        return closed
    return _get(payment.number, ports)


def _all_known(payment: Payment, transactions: Sequence[Transaction], ports: PaymentPorts) -> bool:
    noted = {returned.transaction_id for returned in ports.returns.list_returns(payment.number)}
    return bool(transactions) and all(
        transaction.transaction_id in noted for transaction in transactions
    )


def _get(number: str, ports: PaymentPorts) -> Payment:
    payment = ports.repository.find(number)
    if payment is None:
        raise PaymentNotFound
    return payment
