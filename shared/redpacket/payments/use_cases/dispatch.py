"""Dispatch: calling the provider for pending withdrawals. Slots and leases are durable."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from redpacket.ledger.provider_name import ProviderName
from redpacket.payments.use_cases.dependencies import WithdrawalPorts
from redpacket.payments.use_cases.rate_limiter import FAILURES_MAX, Pace
from redpacket.payments.use_cases.transfer import Called, call_transfer
from redpacket.platform.runtime import InParallel

BATCH = 30

PAGE = 300

POLL_MS = 500

IDLE_MS = 3_000
"""Milliseconds without work after which a run ends; the schedule starts the next run."""

_REMEMBERED_MS = 20_000
"""Milliseconds for which a withdrawal is skipped after a call, because the index may lag."""


@dataclass(frozen=True, slots=True)
class DispatchReport:
    """Counts of one run."""

    answered_count: int = 0
    failed_count: int = 0


def dispatch_all(
    *,
    ports: WithdrawalPorts,
    in_parallel: InParallel,
    stop_at_ms: int,
    should_continue: Callable[[], bool] = lambda: True,
) -> dict[ProviderName, DispatchReport]:
    """Call all providers concurrently, each at its own rate."""

    def dispatch_by(channel: ProviderName) -> DispatchReport:
        return dispatch(
            channel,
            ports=ports,
            in_parallel=in_parallel,
            stop_at_ms=stop_at_ms,
            should_continue=should_continue,
        )

    channels = list(ports.providers)
    return dict(zip(channels, in_parallel(dispatch_by, channels), strict=True))


def dispatch(
    channel: ProviderName,
    *,
    ports: WithdrawalPorts,
    in_parallel: InParallel,
    stop_at_ms: int,
    should_continue: Callable[[], bool] = lambda: True,
) -> DispatchReport:
    """Call the provider until time is up, *should_continue* returns False, or no work is left."""
    clock, pace = ports.clock, ports.paces[channel]
    tried_at_ms: dict[str, int] = {}
    pending: list[str] = []
    answered_count = failed_count = failed_in_a_row = 0
    idle_at_ms = clock.now_ms() + IDLE_MS
    while (now_ms := clock.now_ms()) < min(stop_at_ms, idle_at_ms) and should_continue():
        rests_until_ms = pace.rests_until_ms()
        if rests_until_ms >= stop_at_ms:
            break
        if rests_until_ms:
            clock.sleep_ms(rests_until_ms - now_ms)
            idle_at_ms = rests_until_ms + IDLE_MS
            continue
        if not pending:
            tried_at_ms = {
                withdrawal_id: at
                for withdrawal_id, at in tried_at_ms.items()
                if at > now_ms - _REMEMBERED_MS
            }
            listed = ports.repository.list_to_call(channel, now_ms, PAGE)
            pending = [
                withdrawal_id for withdrawal_id in listed if withdrawal_id not in tried_at_ms
            ]
        if not pending:
            clock.sleep_ms(min(POLL_MS, stop_at_ms - now_ms))
            continue
        idle_at_ms = now_ms + IDLE_MS
        slots = pace.take(min(len(pending), _batch(pace, stop_at_ms)))
        pairs = [pair for pair in zip(pending, slots, strict=False) if pair[1] < stop_at_ms]
        pending = pending[len(slots) :]
        tried_at_ms |= dict.fromkeys((withdrawal_id for withdrawal_id, _ in pairs), now_ms)
        for called in in_parallel(lambda pair: _call_at(pair[0], pair[1], ports), pairs):
            failed_in_a_row = failed_in_a_row + 1 if called is Called.FAILED else 0
            failed_count += called is Called.FAILED
            answered_count += called is Called.ANSWERED
        if failed_in_a_row >= FAILURES_MAX:
            rest_ms = pace.rest() - clock.now_ms()
            ports.logger.event("gateway_rests", channel=channel, rest_ms=rest_ms)
            failed_in_a_row = 0
        elif answered_count and not failed_in_a_row:
            pace.recover()
        if not pairs:
            break
    return _reported(DispatchReport(answered_count, failed_count), channel, ports)


def _reported(
    report: DispatchReport, channel: ProviderName, ports: WithdrawalPorts
) -> DispatchReport:
    """Log a silent provider once per run, because a few failed calls do not open the breaker."""
    if report.failed_count and not report.answered_count:
        ports.logger.event("provider_silent", channel=channel)
    if report.failed_count or report.answered_count:
        ports.paces[channel].note(is_answered=report.answered_count > 0)
    return report


def _batch(pace: Pace, stop_at_ms: int) -> int:
    left_us = (stop_at_ms - pace.clock.now_ms()) * 1000
    return max(1, min(BATCH, left_us // pace.interval_us))


def _call_at(withdrawal_id: str, slot_ms: int, ports: WithdrawalPorts) -> Called:
    """Wait for the slot, then call the provider. Unexpected errors are not provider failures."""
    wait_ms = slot_ms - ports.clock.now_ms()
    if wait_ms > 0:
        ports.clock.sleep_ms(wait_ms)
    try:
        return call_transfer(withdrawal_id, ports=ports)
    except Exception as error:  # noqa: BLE001 - one bad row must not block the others
        ports.logger.failure("transfer_failed", error, withdrawal_id=withdrawal_id)
        return Called.NOT_MADE
