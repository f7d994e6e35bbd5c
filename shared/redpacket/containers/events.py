"""Events and webhooks."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any

from redpacket.containers.container import Container
from redpacket.containers.packets import PacketsContainer
from redpacket.containers.users import UsersContainer
from redpacket.events.clients.sqs_deliveries import SqsDeliveries, SqsUnreadRecords
from redpacket.events.dynamodb.stream import change_of
from redpacket.events.dynamodb.webhooks import DynamoWaitingList, DynamoWebhooks
from redpacket.events.messages import read_delivery
from redpacket.events.model.events import EventType
from redpacket.events.model.webhooks import Attempt, Delivery, Webhook
from redpacket.events.ports import Change, DeliveryQueue, Sender, WaitingList, WebhookRepository
from redpacket.events.use_cases.announce import announce
from redpacket.events.use_cases.deliver import DeliveryPorts, RetryReport, deliver, retry_deliveries
from redpacket.events.use_cases.edit_webhook import (
    DEAD_SHOWN,
    EditPorts,
    find_webhook,
    put_webhook,
    replay_dead,
    rotate_secret,
    test_webhook,
)
from redpacket.platform.runtime import InParallel
from redpacket.platform.threads import in_threads

_CALL_MS_MAX = 5_000
"""Timeout of a receiver; a batch waits for the slowest one."""

_ANSWER_BYTES_MAX = 64 * 1024

_RESERVE_MS = 8_000

_THREADS = 20


@dataclass(eq=False)
class EventsContainer(Container):
    """Events and webhooks."""

    users: UsersContainer
    packets: PacketsContainer

    @cached_property
    def webhook_book(self) -> WebhookRepository:
        return DynamoWebhooks(self.dynamo, self.settings.webhooks_table)

    @cached_property
    def waiting_list(self) -> WaitingList:
        return DynamoWaitingList(self.dynamo, self.settings.webhooks_table)

    @cached_property
    def delivery_queue(self) -> DeliveryQueue:
        return SqsDeliveries(lambda: self.platform.aws("sqs"), self.settings.delivery_queue_url)

    @cached_property
    def dead_letter(self) -> Callable[[Mapping[str, Any]], None]:
        return SqsUnreadRecords(lambda: self.platform.aws("sqs"), self.settings.unread_records_url)

    @cached_property
    def event_sender(self) -> Sender:
        # Functions that send nothing lack the libraries of these modules.
        from redpacket.events.clients.sender import WebhookSender
        from redpacket.payments.sealed_accounts import AccountKeys

        receiver = partial(
            self.platform.http_client, call_ms_max=_CALL_MS_MAX, answer_bytes_max=_ANSWER_BYTES_MAX
        )
        secret, arn = self.platform.secret, self.settings.webhook_keys_secret_arn
        return WebhookSender(
            cache(lambda: AccountKeys.of(secret(arn))),
            receiver,
            source=self.settings.callback_base_url,
            now_ms=self.clock.now_ms,
        )

    @staticmethod
    def read_change(record: Mapping[str, Any]) -> Change | None:
        """Parse a stream record; return None for a row that causes no events."""
        return change_of(record)

    def announce(self, changes: Sequence[Change]) -> int:
        return announce(
            changes,
            book=self.webhook_book,
            packets=self.packets.packet_rows,
            queue=self.delivery_queue,
            clock=self.clock,
        )

    @cached_property
    def many_receivers(self) -> InParallel:
        return partial(in_threads, threads=_THREADS)

    @cached_property
    def delivery_ports(self) -> DeliveryPorts:
        return DeliveryPorts(
            book=self.webhook_book,
            waiting=self.waiting_list,
            queue=self.delivery_queue,
            sender=self.event_sender,
            host_ids=self.users.host_ids,
            clock=self.clock,
            logger=self.logger,
            jitter=random.random,
            in_parallel=self.many_receivers,
        )

    def deliver(self, batch: Sequence[Delivery]) -> list[Delivery]:
        """Send deliveries; return those whose messages must be redelivered."""
        return deliver(batch, ports=self.delivery_ports)

    @staticmethod
    def read_delivery(body: str) -> Delivery:
        return read_delivery(body)

    def retry_deliveries(self, time_left_ms: int) -> RetryReport:
        stop_at_ms = self.clock.now_ms() + time_left_ms - _RESERVE_MS
        return retry_deliveries(ports=self.delivery_ports, stop_at_ms=stop_at_ms)

    @cached_property
    def webhook_ports(self) -> EditPorts:
        return EditPorts(
            book=self.webhook_book,
            waiting=self.waiting_list,
            sender=self.event_sender,
            clock=self.clock,
            in_parallel=self.platform.in_parallel,
        )

    def put_webhook(
        self, name: str, url: str, types: Collection[str], *, is_on: bool
    ) -> tuple[Webhook, str | None]:
        """Create or edit a webhook; return the secret of a new one."""
        kinds = [EventType(one) for one in types]
        return put_webhook(name, url, kinds, is_on=is_on, ports=self.webhook_ports)

    def find_webhook(self, name: str) -> Webhook:
        return find_webhook(name, book=self.webhook_book)

    def watch_webhook(self, name: str) -> tuple[Webhook, tuple[int, int], list[Delivery]]:
        """Return a webhook, its waiting and dead counts, and its oldest dead letters."""
        waiting, found = self.waiting_list, self.find_webhook(name)
        return found, waiting.count(name), waiting.list_dead(name, DEAD_SHOWN)

    def rotate_secret(self, name: str) -> str:
        """Return a new secret; the old one also signs for a day."""
        return rotate_secret(name, ports=self.webhook_ports)

    def test_webhook(self, name: str) -> Attempt:
        return test_webhook(name, ports=self.webhook_ports)

    def replay_dead(self, name: str) -> tuple[int, bool]:
        return replay_dead(name, ports=self.webhook_ports)
