"""Sweep of payments and withdrawals: a row is delayed first, so a bad one blocks no other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

from redpacket.domain.errors import GatewayChanged, PaymentNotFound, Unavailable
from redpacket.domain.gateway import Channel
from redpacket.domain.packet import Packet, PacketStatus
from redpacket.domain.payments import PAYMENT_LIFE_MS
from redpacket.flows.packets.attempt_each import Attempts, attempt_lanes
from redpacket.flows.payments.authorization_ports import AuthorizationPorts
from redpacket.flows.payments.authorize import look_at_authorization
from redpacket.flows.payments.confirm_payment import confirm_payment
from redpacket.flows.payments.pace import FAILURES_MAX
from redpacket.flows.payments.payment_ports import PaymentPorts
from redpacket.flows.payments.return_payment import return_payment
from redpacket.flows.payments.transfer import call_transfer, look_at_transfer
from redpacket.flows.payments.withdrawal_ports import WithdrawalPorts
from redpacket.ports.runtime import InParallel

ROWS_PER_SWEEP = 400

AGAIN_MS = 60_000

STEP_MS = 5_000
"""Milliseconds that a step leaves for each later one of its gateway."""

_Step: TypeAlias = tuple[str, Callable[[], Sequence[Any]], Callable[[Any], Any]]
"""Name of its failures, the list of its rows, and the action on each."""


@dataclass(frozen=True, slots=True)
class PaymentSweepReport:
    """Counts of one sweep."""

    done_count: int = 0
    failed_count: int = 0


class _Breaker:
    """Call that fails at once after so many calls in a row without an answer in this sweep."""

    def __init__(self, do: Callable[[Any], Any]) -> None:
        self._do = do
        self._failed_in_a_row = 0

    def is_closed(self) -> bool:
        return self._failed_in_a_row < FAILURES_MAX

    def __call__(self, item: object) -> object:
        if not self.is_closed():
            raise Unavailable("it did not answer before in this sweep")
        try:
            done = self._do(item)
        except Unavailable:
            self._failed_in_a_row += 1
            raise
        self._failed_in_a_row = 0
        return done


def sweep_payments(
    *,
    payments: PaymentPorts,
    withdrawals: WithdrawalPorts,
    authorizations: AuthorizationPorts,
    in_parallel: InParallel,
    stop_at_ms: int,
) -> PaymentSweepReport:
    """Process every work list once, until *stop_at_ms*.

    No gateway takes the time of another one or of unpaid packets, and no step that of the next.
    """
    clock, journal = payments.clock, payments.journal
    now_ms = clock.now_ms()

    def unpaid() -> list[_Step]:
        since_ms = now_ms - PAYMENT_LIFE_MS
        confirm_by: dict[str, _Breaker] = defaultdict(
            lambda: _Breaker(partial(confirm_payment, ports=payments))
        )
        return [
            (
                "cancel_failed",
                lambda: payments.work.list_unpaid(since_ms, ROWS_PER_SWEEP),
                lambda one: _cancel_unpaid(one, confirm_by, payments),
            )
        ]

    def at_gateway(channel: Channel) -> list[_Step]:
        # One that is off as well: its rows are reported, and end if no call can have been made.
        due = channel, now_ms, ROWS_PER_SWEEP
        book = withdrawals.book
        steps: list[_Step] = [
            (
                "confirm_failed",
                lambda: payments.book.list_waiting(*due),
                lambda one: _confirm(one, payments),
            ),
            (
                "return_failed",
                lambda: payments.returns.list_returns_due(*due),
                lambda one: return_payment(*one, ports=payments),
            ),
            (
                "look_failed",
                lambda: book.list_to_look(*due),
                partial(look_at_transfer, ports=withdrawals),
            ),
        ]
        if channel not in withdrawals.gateways:
            call = partial(call_transfer, ports=withdrawals)
            steps.append(("transfer_failed", lambda: book.list_to_call(*due), call))
        if channel in authorizations.gateways:
            look = partial(look_at_authorization, ports=authorizations)
            steps.append(("consent_failed", lambda: authorizations.book.list_waiting(*due), look))
        return steps

    def run(lane: tuple[str, list[_Step]]) -> list[Attempts[Any]]:
        tried = []
        channel, steps = lane
        for left, (name, find, do) in zip(range(len(steps), 0, -1), steps, strict=True):
            share_ms = (stop_at_ms - clock.now_ms()) // left
            breaker = _Breaker(do)
            attempts = attempt_lanes(
                [[item] for item in find()],
                breaker,
                name=name,
                clock=clock,
                journal=journal,
                stop_at_ms=stop_at_ms - (left - 1) * min(share_ms, STEP_MS),
                in_parallel=in_parallel,
                may_go_on=breaker.is_closed,
            )
            tried.append(attempts)
            if not breaker.is_closed():
                journal.event("gateway_rests", channel=channel, step=name)
        return tried

    lanes = [("", unpaid()), *((channel, at_gateway(channel)) for channel in Channel)]
    tried = [attempts for lane in in_parallel(run, lanes) for attempts in lane]
    return PaymentSweepReport(
        sum(len(one.results) for one in tried), sum(one.failed_count for one in tried)
    )


def _cancel_unpaid(
    packet_id: str, confirm_by: Mapping[str, Callable[[str], object]], ports: PaymentPorts
) -> None:
    """Cancel an overdue unpaid packet, unless it is paid or already cancelled.

    Payment and cancellation exclude each other; later money goes to the sender's balance.
    """
    now_ms = ports.clock.now_ms()
    ports.work.delay(packet_id, now_ms + AGAIN_MS)
    packet = _unpaid(packet_id, ports)
    if packet is None or now_ms < packet.created_at_ms + PAYMENT_LIFE_MS:
        return
    with suppress(Unavailable, PaymentNotFound, GatewayChanged):
        # Cancel it even without an answer, because it counts as an open packet of its sender.
        confirm_by[packet.pay_channel](packet.payment_id or "")
    if ports.ledger.cancel_unpaid(packet, ports.clock.now_ms()):
        ports.journal.event("packet_cancelled", packet_id=packet_id)


def _unpaid(packet_id: str, ports: PaymentPorts) -> Packet | None:
    packet = ports.packets.find_packet(packet_id)
    return packet if packet and packet.status is PacketStatus.UNPAID else None


def _confirm(number: str, ports: PaymentPorts) -> None:
    ports.book.look_again(number, ports.clock.now_ms() + AGAIN_MS)
    confirm_payment(number, ports=ports)
