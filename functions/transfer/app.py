"""Handler for the notice queue and payment schedules; it queries and calls payment providers."""

from dataclasses import asdict
from functools import partial
from typing import Any

from redpacket.containers import containers
from redpacket.operations.model.switches import Switch
from redpacket.payments.use_cases.compare_statements import compare_statements
from redpacket.payments.use_cases.dispatch import BATCH, dispatch_all
from redpacket.payments.use_cases.forgotten import return_forgotten
from redpacket.payments.use_cases.handle_callback import follow_notice
from redpacket.payments.use_cases.sweep_payments import sweep_payments
from redpacket.platform.runtime import in_threads
from redpacket.platform.telemetry import logger, outcomes, powertools_logger

_RESERVE_MS = 8_000
"""Milliseconds reserved to finish one call and store its answer."""


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:  # noqa: ANN401 - Lambda's form
    """Process queued notices, or run a scheduled task: dispatch, sweep or compare_bills.

    Operators may also invoke the function. `{"task": "compare_bills", "day": "2027-01-29"}`
    compares one day's statements; with `"skip": true` the day counts as compared even without a
    statement. `{"task": "return_forgotten", "withdrawal_id": "..."}` returns a withdrawal's money
    to its user.
    """
    try:
        return _follow(event["Records"]) if "Records" in event else _do(event, context)
    finally:
        outcomes.flush()


def _do(event: dict[str, Any], context: Any) -> dict[str, Any]:  # noqa: ANN401 - Lambda's form
    time_left_ms = context.get_remaining_time_in_millis() - _RESERVE_MS
    stop_at_ms = containers.platform.clock.now_ms() + time_left_ms
    payments = containers.payments.payment_ports
    withdrawals = containers.payments.withdrawal_ports
    report: dict[str, Any]
    match event:
        case {"task": "dispatch"}:
            done = dispatch_all(
                ports=withdrawals,
                in_parallel=partial(in_threads, threads=BATCH),
                stop_at_ms=stop_at_ms,
                should_continue=_may_withdraw,
            )
            report = {channel: asdict(counts) for channel, counts in done.items()}
        case {"task": "sweep"}:
            report = asdict(
                sweep_payments(
                    payments=payments,
                    withdrawals=withdrawals,
                    authorizations=containers.payments.authorization_ports,
                    in_parallel=in_threads,
                    stop_at_ms=stop_at_ms,
                )
            )
        case {"task": "compare_bills"}:
            reports = compare_statements(
                event.get("day"),
                payments=payments,
                withdrawals=withdrawals,
                stop_at_ms=stop_at_ms,
                may_skip=event.get("skip") is True,
            )
            report = {
                channel: [asdict(day_report) for day_report in bills]
                for channel, bills in reports.items()
            }
        case {"task": "return_forgotten", "withdrawal_id": str(withdrawal_id)}:
            report = {"result": return_forgotten(withdrawal_id, ports=withdrawals)}
        case _:
            raise ValueError(
                "the event must name a task: dispatch, sweep, compare_bills or return_forgotten"
            )
    powertools_logger().info(event["task"], extra={"report": report})
    return report


def _may_withdraw() -> bool:
    return containers.operations.stored_switches.is_on(Switch.WITHDRAW)


def _follow(records: list[dict[str, Any]]) -> dict[str, Any]:
    """Process each notice; return SQS's partial batch response. Sweeps cover lost callbacks."""
    failed: list[str] = []
    for record in records:
        try:
            channel, notice = containers.payments.read_notice(record["body"])
            follow_notice(
                channel,
                notice,
                payments=containers.payments.payment_ports,
                withdrawals=containers.payments.withdrawal_ports,
                authorizations=containers.payments.authorization_ports,
                queue=containers.payments.providers.notice_queue,
                may_withdraw=_may_withdraw,
            )
        except Exception as error:  # noqa: BLE001 - one notice must not block the others
            logger.failure("notice_not_followed", error, message_id=record["messageId"])
            failed.append(record["messageId"])
    return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in failed]}
