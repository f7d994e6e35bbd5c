"""Sweep of payments and withdrawals: a row is delayed first, so a bad one blocks no other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from redpacket.domain.errors import GatewayChanged, PaymentNotFound, Unavailable
from redpacket.domain.packet import Packet, PacketStatus
from redpacket.domain.payments import PAYMENT_LIFE_MS
from redpacket.flows.packets.attempt_each import attempt_lanes
from redpacket.flows.payments.authorization_ports import AuthorizationPorts
from redpacket.flows.payments.authorize import look_at_authorization
from redpacket.flows.payments.confirm_payment import confirm_payment
from redpacket.flows.payments.payment_ports import PaymentPorts
from redpacket.flows.payments.return_payment import return_payment
from redpacket.flows.payments.transfer import look_at_transfer
from redpacket.flows.payments.withdrawal_ports import WithdrawalPorts
from redpacket.ports.runtime import InParallel

ROWS_PER_SWEEP = 400

AGAIN_MS = 60_000


@dataclass(frozen=True, slots=True)
class PaymentSweepReport:
    """Counts of one sweep."""

    done_count: int = 0
    failed_count: int = 0


def sweep_payments(
    *,
    payments: PaymentPorts,
    withdrawals: WithdrawalPorts,
    authorizations: AuthorizationPorts,
    in_parallel: InParallel,
    stop_at_ms: int,
) -> PaymentSweepReport:
    """Process every work list once, until *stop_at_ms*."""
    clock, journal = payments.clock, payments.journal
    done_count = failed_count = 0

    def attempt(name: str, items: Sequence[Any], do: Callable[[Any], Any]) -> None:
        nonlocal done_count, failed_count
        tried = attempt_lanes(
            [[item] for item in items],
            do,
            name=name,
            clock=clock,
            journal=journal,
            stop_at_ms=stop_at_ms,
            in_parallel=in_parallel,
        )
        done_count += len(tried.results)
        failed_count += tried.failed_count

    now_ms = clock.now_ms()
    found = [
        number
        for channel in payments.gateways
        for number in payments.book.list_waiting(channel, now_ms, ROWS_PER_SWEEP)
    ]
    attempt("confirm_failed", found, lambda one: _confirm(one, payments))
    due = [
        pair
        for channel in payments.gateways
        for pair in payments.returns.list_returns_due(channel, now_ms, ROWS_PER_SWEEP)
    ]
    attempt("return_failed", due, lambda one: return_payment(*one, ports=payments))
    waiting = [
        one
        for channel in withdrawals.gateways
        for one in withdrawals.book.list_to_look(channel, now_ms, ROWS_PER_SWEEP)
    ]
    attempt("look_failed", waiting, lambda one: look_at_transfer(one, ports=withdrawals))
    unpaid = payments.work.list_unpaid(now_ms - PAYMENT_LIFE_MS, ROWS_PER_SWEEP)
    attempt("cancel_failed", unpaid, lambda one: cancel_unpaid(one, ports=payments))
    asked = [
        one
        for channel in authorizations.gateways
        for one in authorizations.book.list_waiting(channel, now_ms, ROWS_PER_SWEEP)
    ]
    attempt("consent_failed", asked, lambda one: look_at_authorization(one, ports=authorizations))
    return PaymentSweepReport(done_count, failed_count)


def cancel_unpaid(packet_id: str, *, ports: PaymentPorts) -> bool:
    """Cancel an overdue unpaid packet; return False if it is paid or already cancelled.

    Payment and cancellation exclude each other; later money goes to the sender's balance.
    """
    now_ms = ports.clock.now_ms()
    ports.work.delay(packet_id, now_ms + AGAIN_MS)
    packet = _unpaid(packet_id, ports)
    if packet is None or now_ms < packet.created_at_ms + PAYMENT_LIFE_MS:
        return False
    with suppress(Unavailable, PaymentNotFound, GatewayChanged):
        # Cancel it even without an answer, because it counts as an open packet of its sender.
        confirm_payment(packet.payment_id or "", ports=ports)
    is_cancelled = ports.ledger.cancel_unpaid(packet, ports.clock.now_ms())
    if is_cancelled:
        ports.journal.event("packet_cancelled", packet_id=packet_id)
    return is_cancelled


def _unpaid(packet_id: str, ports: PaymentPorts) -> Packet | None:
    packet = ports.packets.find_packet(packet_id)
    return packet if packet and packet.status is PacketStatus.UNPAID else None


def _confirm(number: str, ports: PaymentPorts) -> None:
    ports.book.look_again(number, ports.clock.now_ms() + AGAIN_MS)
    confirm_payment(number, ports=ports)
