"""Event delivery. Failed deliveries wait in a list outside the queue.

A failing receiver is paused, and only the sweep calls a slow receiver (docs/adr/0037).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from redpacket.events.model.webhooks import (
    FAILURES_MAX,
    Delivery,
    DeliveryAttempt,
    Webhook,
    after_failure,
    is_given_up,
    pause_ms,
    person_delay_s,
    slow_until_ms,
)
from redpacket.events.ports import DeliveryQueue, HostIds, Sender
from redpacket.platform.errors import Unavailable
from redpacket.platform.runtime import Clock, EventLogger, InParallel

if TYPE_CHECKING:
    from redpacket.events.dynamodb.webhooks import DynamoWaitingList, DynamoWebhooks

BATCH = 50
"""Maximum deliveries to one receiver between two reads of its waiting list."""

_TRIES_MAX = 100_000


@dataclass(frozen=True, slots=True)
class DeliveryPorts:
    """Dependencies of deliveries."""

    repository: DynamoWebhooks
    pending: DynamoWaitingList
    queue: DeliveryQueue
    sender: Sender
    host_ids: HostIds
    clock: Clock
    logger: EventLogger
    jitter: Callable[[], float]
    in_parallel: InParallel


@dataclass(frozen=True, slots=True)
class RetryReport:
    """Counts of one sweep of the waiting lists."""

    delivered_count: int = 0
    failed_count: int = 0
    dead_count: int = 0
    waiting_count: int = 0


def deliver(deliveries: Sequence[Delivery], *, ports: DeliveryPorts) -> list[Delivery]:
    """Deliver a batch, move failures to the waiting list, and return what SQS must redeliver."""
    webhooks = {
        name: ports.repository.find(name) for name in {delivery.webhook for delivery in deliveries}
    }
    host_ids = _host_ids(deliveries, ports)

    def attempt(delivery: Delivery) -> bool:
        try:
            _first_attempt(delivery, webhooks[delivery.webhook], host_ids, ports)
        except Unavailable as error:
            ports.logger.failure("delivery_put_off", error, webhook=delivery.webhook)
            return False
        return True

    done = ports.in_parallel(attempt, deliveries)
    return [delivery for delivery, is_done in zip(deliveries, done, strict=True) if not is_done]


def retry_deliveries(*, ports: DeliveryPorts, stop_at_ms: int) -> RetryReport:
    """Retry due deliveries separately for each receiver; dead-letter those older than a day."""
    webhooks = ports.repository.list_all()
    reports = ports.in_parallel(lambda webhook: _retry_of(webhook, ports, stop_at_ms), webhooks)
    return RetryReport(
        sum(report.delivered_count for report in reports),
        sum(report.failed_count for report in reports),
        sum(report.dead_count for report in reports),
        sum(report.waiting_count for report in reports),
    )


def _first_attempt(
    delivery: Delivery, webhook: Webhook | None, host_ids: Mapping[str, str], ports: DeliveryPorts
) -> None:
    now_ms = ports.clock.now_ms()
    if webhook is None:
        ports.logger.event("webhook_unknown", webhook=delivery.webhook)
    elif delay_s := person_delay_s(delivery.event, host_ids, now_ms):
        ports.queue.put([delivery], delay_s=delay_s)
    elif webhook.is_called_immediately(now_ms):
        _attempt(delivery, webhook, host_ids, ports)
    else:
        ports.pending.put(replace(delivery, due_at_ms=now_ms))


def _attempt(
    delivery: Delivery, webhook: Webhook, host_ids: Mapping[str, str], ports: DeliveryPorts
) -> DeliveryAttempt:
    made = ports.sender.send(webhook, delivery.event, host_ids)
    now_ms = ports.clock.now_ms()
    if made.is_ok:
        if delivery.is_stored:
            ports.pending.remove(delivery, now_ms)
        if webhook.is_worth_noting(made):
            ports.repository.note_success(webhook, made, slow_until_ms(made))
        return made
    put_off = after_failure(replace(delivery, last_status=made.status), now_ms, ports.jitter())
    ports.pending.put(put_off)
    if put_off.died_at_ms:
        ports.logger.event("delivery_given_up", webhook=webhook.name, event_id=made.event_id)
    count = webhook.failure_count + 1
    paused_until_ms = now_ms + pause_ms(count) if pause_ms(count) else 0
    is_counted = ports.repository.note_failure(webhook, made, paused_until_ms)
    if is_counted and count == FAILURES_MAX:
        ports.logger.event("webhook_paused", webhook=webhook.name)
    return made


def _retry_of(webhook: Webhook, ports: DeliveryPorts, stop_at_ms: int) -> RetryReport:
    """Deliver to one receiver until nothing is due, a whole batch fails, or time runs out."""
    report, seen = RetryReport(), set[str]()
    while ports.clock.now_ms() < stop_at_ms and len(seen) < _TRIES_MAX:
        stored = ports.repository.find(webhook.name)
        now_ms = ports.clock.now_ms()
        if stored is None or not stored.may_be_asked(now_ms):
            return _dead_letter_expired(webhook.name, report, ports)
        is_half_open = stored.is_half_open(now_ms)
        due = ports.pending.list_due(webhook.name, now_ms, 1 if is_half_open else BATCH + len(seen))
        # The list is eventually consistent and may contain deliveries that were just made.
        batch = [delivery for delivery in due if delivery.event.event_id not in seen][:BATCH]
        if not batch:
            break
        seen.update(delivery.event.event_id for delivery in batch)
        host_ids = _host_ids(batch, ports)

        def attempt(
            delivery: Delivery, target: Webhook = stored, known_ids: Mapping[str, str] = host_ids
        ) -> DeliveryAttempt:
            return _attempt(delivery, target, known_ids, ports)

        made = ports.in_parallel(attempt, batch)
        taken = sum(outcome.is_ok for outcome in made)
        report = replace(
            report,
            delivered_count=report.delivered_count + taken,
            failed_count=report.failed_count + len(made) - taken,
        )
        if not taken:
            break
    return report


def _dead_letter_expired(name: str, report: RetryReport, ports: DeliveryPorts) -> RetryReport:
    """Dead-letter day-old deliveries of a receiver that is off or paused."""
    now_ms = ports.clock.now_ms()
    pending = ports.pending.list_due(name, now_ms, 10 * BATCH)
    dead = [delivery for delivery in pending if is_given_up(delivery, now_ms)]
    for delivery in dead:
        ports.pending.put(replace(delivery, died_at_ms=now_ms))
        ports.logger.event("delivery_given_up", webhook=name, event_id=delivery.event.event_id)
    return replace(report, dead_count=len(dead), waiting_count=len(pending) - len(dead))


def _host_ids(deliveries: Sequence[Delivery], ports: DeliveryPorts) -> dict[str, str]:
    user_ids = {user_id for delivery in deliveries for user_id in delivery.event.users.values()}
    return ports.host_ids.find(sorted(user_ids)) if user_ids else {}
