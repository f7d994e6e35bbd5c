"""Container for events and webhooks."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any

from redpacket.chat.clients.sqs_cards import SqsCards
from redpacket.containers.container import Container, on_dynamo
from redpacket.containers.packets import PacketsContainer
from redpacket.containers.users import UsersContainer
from redpacket.events.clients.sqs_deliveries import SqsDeliveries, SqsUnreadRecords
from redpacket.events.dynamodb.stream import change_of
from redpacket.events.dynamodb.webhooks import DynamoWaitingList, DynamoWebhooks
from redpacket.events.ports import DeliveryQueue, Sender
from redpacket.events.use_cases.announce import AnnouncePorts
from redpacket.events.use_cases.deliver import DeliveryPorts
from redpacket.events.use_cases.edit_webhook import EditPorts
from redpacket.platform.runtime import InParallel, in_threads

_CALL_MS_MAX = 5_000
"""Timeout for a receiver, in milliseconds; a batch waits for its slowest receiver."""
_ANSWER_BYTES_MAX = 64 * 1024
_THREADS = 20


@dataclass(eq=False)
class EventsContainer(Container):
    users: UsersContainer
    packets: PacketsContainer

    read_change = staticmethod(change_of)

    webhook_repository = on_dynamo(DynamoWebhooks)
    waiting_list = on_dynamo(DynamoWaitingList)

    @cached_property
    def delivery_queue(self) -> DeliveryQueue:
        return SqsDeliveries(lambda: self.platform.aws("sqs"), self.settings.delivery_queue_url)

    @cached_property
    def dead_letter(self) -> Callable[[Mapping[str, Any]], None]:
        return SqsUnreadRecords(lambda: self.platform.aws("sqs"), self.settings.unread_records_url)

    @cached_property
    def event_sender(self) -> Sender:
        # Import lazily: functions that send no events lack these modules' libraries.
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

    @cached_property
    def many_receivers(self) -> InParallel:
        return partial(in_threads, threads=_THREADS)

    @cached_property
    def edit_cards(self) -> Callable[[Sequence[str], int], None] | None:
        url = self.settings.card_queue_url
        return SqsCards(lambda: self.platform.aws("sqs"), url).put if url else None

    @cached_property
    def announce_ports(self) -> AnnouncePorts:
        return AnnouncePorts(
            repository=self.webhook_repository,
            packets=self.packets.packet_rows,
            put_notice=self.users.notices.put,
            in_parallel=self.many_receivers,
            queue=self.delivery_queue,
            edit_cards=self.edit_cards,
            clock=self.clock,
        )

    @cached_property
    def delivery_ports(self) -> DeliveryPorts:
        return DeliveryPorts(
            repository=self.webhook_repository,
            pending=self.waiting_list,
            queue=self.delivery_queue,
            sender=self.event_sender,
            host_ids=self.users.host_ids,
            clock=self.clock,
            logger=self.logger,
            jitter=random.random,
            in_parallel=self.many_receivers,
        )

    @cached_property
    def webhook_ports(self) -> EditPorts:
        return EditPorts(
            repository=self.webhook_repository,
            pending=self.waiting_list,
            sender=self.event_sender,
            clock=self.clock,
            in_parallel=self.platform.in_parallel,
        )
