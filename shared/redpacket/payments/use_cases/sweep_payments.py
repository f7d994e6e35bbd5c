"""Sweep of payments and withdrawals. It reschedules each row first, so bad rows block no others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

from redpacket.ledger.provider_name import ProviderName
from redpacket.packets.model.packet import Packet, PacketStatus
from redpacket.payments.errors import PaymentNotFound, ProviderChanged
from redpacket.payments.model.payments import PAYMENT_LIFE_MS, WATCHED_MS
from redpacket.payments.use_cases.authorize import look_at_authorization
from redpacket.payments.use_cases.confirm_payment import confirm_payment
from redpacket.payments.use_cases.dependencies import (
    AuthorizationPorts,
    PaymentPorts,
    WithdrawalPorts,
)
from redpacket.payments.use_cases.rate_limiter import FAILURES_MAX, Pace
from redpacket.payments.use_cases.return_payment import return_payment
from redpacket.payments.use_cases.transfer import call_transfer, sync_transfer
from redpacket.platform.attempt_each import Attempts, attempt_lanes
from redpacket.platform.errors import Unavailable
from redpacket.platform.runtime import InParallel

ROWS_PER_SWEEP = 400

AGAIN_MS = 55_000
"""Milliseconds until a row is due again: the next minute's sweep must find it."""

STEP_MS = 5_000
"""Maximum milliseconds that a step leaves for each later step of the same lane."""

UNASKED_MS_MAX = WATCHED_MS
"""Age in ms at which an unpaid packet is canceled even if its provider is unavailable."""

_Step: TypeAlias = tuple[str, Callable[[], Sequence[Any]], Callable[[Any], Any]]
"""Log event for failures, a function that lists the rows, and the action for each row."""

_Lane: TypeAlias = tuple[str, list[_Step]]
"""Channel (empty for unpaid packets) with its steps in order."""


@dataclass(frozen=True, slots=True)
class PaymentSweepReport:
    """Counts of one sweep."""

    done_count: int = 0
    failed_count: int = 0


class _Breaker:
    """Function whose calls fail immediately once FAILURES_MAX in a row have raised Unavailable."""

    def __init__(self, do: Callable[[Any], Any]) -> None:
        self._do = do
        self._failed_in_a_row = 0
        self._answered_count = 0

    @property
    def is_answered(self) -> bool | None:
        """Whether any call succeeded, or None if no call succeeded or raised Unavailable."""
        return bool(self._answered_count) if self._answered_count or self._failed_in_a_row else None

    def is_closed(self) -> bool:
        return self._failed_in_a_row < FAILURES_MAX

    def __call__(self, item: object) -> object:
        if not self.is_closed():
            raise Unavailable("the provider failed repeatedly in this sweep")
        try:
            done = self._do(item)
        except Unavailable:
            self._failed_in_a_row += 1
            raise
        self._failed_in_a_row = 0
        self._answered_count += 1
        return done


def sweep_payments(
    *,
    payments: PaymentPorts,
    withdrawals: WithdrawalPorts,
    authorizations: AuthorizationPorts,
    in_parallel: InParallel,
    stop_at_ms: int,
) -> PaymentSweepReport:
    """Process up to ROWS_PER_SWEEP due rows in each step, until *stop_at_ms*.

    Each provider and the unpaid packets have their own lane, and each step has a share of the time.
    """
    now_ms = payments.clock.now_ms()
    lanes: list[_Lane] = [("", [_unpaid_step(payments, now_ms)])]
    for channel in ProviderName:
        # Include disabled providers: the sweep closes overdue payments that were never ordered,
        # stops calls for overdue withdrawals, and reports the other rows.
        steps = _payment_steps(channel, payments, now_ms)
        steps += _withdrawal_steps(channel, withdrawals, now_ms)
        steps += _consent_steps(channel, authorizations, now_ms)
        lanes.append((channel, steps))
    run = partial(
        _run_lane,
        ports=payments,
        paces=withdrawals.paces,
        in_parallel=in_parallel,
        stop_at_ms=stop_at_ms,
    )
    tried = [attempts for lane in in_parallel(run, lanes) for attempts in lane]
    return PaymentSweepReport(
        sum(len(attempt.results) for attempt in tried),
        sum(attempt.failed_count for attempt in tried),
    )


def _unpaid_step(ports: PaymentPorts, now_ms: int) -> _Step:
    confirm_by: Mapping[str, _Breaker] = {
        channel: _Breaker(partial(confirm_payment, ports=ports)) for channel in ProviderName
    }
    return (
        "cancel_failed",
        lambda: ports.work.list_unpaid(now_ms - PAYMENT_LIFE_MS, ROWS_PER_SWEEP),
        lambda packet_id: _cancel_unpaid(packet_id, confirm_by, ports),
    )


def _payment_steps(channel: ProviderName, ports: PaymentPorts, now_ms: int) -> list[_Step]:
    due = channel, now_ms, ROWS_PER_SWEEP
    return [
        (
            "confirm_failed",
            lambda: ports.repository.list_waiting(*due),
            partial(_confirm, ports=ports),
        ),
        (
            "return_failed",
            lambda: ports.returns.list_returns_due(*due),
            lambda returned: return_payment(*returned, ports=ports),
        ),
    ]


def _withdrawal_steps(channel: ProviderName, ports: WithdrawalPorts, now_ms: int) -> list[_Step]:
    rows, due = ports.repository, (channel, now_ms, ROWS_PER_SWEEP)
    look = partial(sync_transfer, ports=ports)
    steps: list[_Step] = [("look_failed", lambda: rows.list_to_look(*due), look)]
    if channel not in ports.providers:
        call = partial(call_transfer, ports=ports)
        steps.append(("transfer_failed", lambda: rows.list_to_call(*due), call))
    return steps


def _consent_steps(channel: ProviderName, ports: AuthorizationPorts, now_ms: int) -> list[_Step]:
    if channel not in ports.providers:
        return []
    due = channel, now_ms, ROWS_PER_SWEEP
    look = partial(look_at_authorization, ports=ports)
    return [("consent_failed", lambda: ports.repository.list_waiting(*due), look)]


def _run_lane(
    lane: _Lane,
    *,
    ports: PaymentPorts,
    paces: Mapping[ProviderName, Pace],
    in_parallel: InParallel,
    stop_at_ms: int,
) -> list[Attempts[Any]]:
    """Run a lane's steps in order, and leave time for later steps."""
    channel, steps = lane
    tried = []
    answers = set[bool | None]()
    for left, (name, find, do) in zip(range(len(steps), 0, -1), steps, strict=True):
        share_ms = (stop_at_ms - ports.clock.now_ms()) // left
        breaker = _Breaker(do)
        attempts = attempt_lanes(
            [[item] for item in find()],
            breaker,
            name=name,
            clock=ports.clock,
            logger=ports.logger,
            stop_at_ms=stop_at_ms - (left - 1) * min(share_ms, STEP_MS),
            in_parallel=in_parallel,
            should_continue=breaker.is_closed,
        )
        tried.append(attempts)
        answers.add(breaker.is_answered)
        if breaker.is_answered is False:
            ports.logger.event("provider_silent", channel=channel, step=name)
        if not breaker.is_closed():
            ports.logger.event("gateway_rests", channel=channel, step=name)
    if channel in paces and answers != {None}:
        paces[ProviderName(channel)].note(is_answered=True in answers)
    return tried


def _cancel_unpaid(
    packet_id: str, confirm_by: Mapping[str, Callable[[str], object]], ports: PaymentPorts
) -> None:
    """Cancel an overdue unpaid packet, unless it is paid or already canceled.

    If the provider is unavailable, retry until UNASKED_MS_MAX. Payment and cancellation exclude
    each other; later money goes to the sender's balance.
    """
    now_ms = ports.clock.now_ms()
    # `list_unpaid` finds rows whose time is PAYMENT_LIFE_MS ago, so subtract this age.
    ports.work.delay(packet_id, now_ms - PAYMENT_LIFE_MS + AGAIN_MS)
    packet = _unpaid(packet_id, ports)
    if packet is None or now_ms < packet.created_at_ms + PAYMENT_LIFE_MS:
        return
    try:
        with suppress(PaymentNotFound):  # never ordered
            confirm_by[packet.pay_channel](packet.payment_id or "")
    except (Unavailable, ProviderChanged) as error:
        if now_ms < packet.created_at_ms + UNASKED_MS_MAX:
            ports.logger.event("unpaid_packet_waits", packet_id=packet_id)
            return
        # The packet counts toward the sender's limit on open packets, so it must end.
        ports.logger.failure("packet_cancelled_unasked", error, packet_id=packet_id)
    if ports.ledger.cancel_unpaid(packet, ports.clock.now_ms()):
        ports.logger.event("packet_cancelled", packet_id=packet_id)


def _unpaid(packet_id: str, ports: PaymentPorts) -> Packet | None:
    packet = ports.packets.find_packet(packet_id)
    return packet if packet and packet.status is PacketStatus.UNPAID else None


def _confirm(number: str, *, ports: PaymentPorts) -> None:
    ports.repository.look_again(number, ports.clock.now_ms() + AGAIN_MS)
    confirm_payment(number, ports=ports)
