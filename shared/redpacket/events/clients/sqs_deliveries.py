"""SQS queues for webhook deliveries and for unreadable records."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from redpacket.events.messages import delivery_message
from redpacket.events.model.webhooks import Delivery
from redpacket.platform.aws.sqs import SqsQueue


class SqsDeliveries:
    """SQS implementation of DeliveryQueue; it connects on first use."""

    def __init__(self, connect: Callable[[], Any], queue_url: str) -> None:
        self._queue = SqsQueue(connect, queue_url, "the queue of deliveries")

    def put(self, deliveries: Iterable[Delivery], *, delay_s: int = 0) -> None:
        bodies = (delivery_message(delivery) for delivery in deliveries)
        self._queue.put(bodies, delay_s=delay_s)


class SqsUnreadRecords:
    """Queue of records for an operator, in a form that the stream's function can process again."""

    def __init__(self, connect: Callable[[], Any], queue_url: str) -> None:
        self._queue = SqsQueue(connect, queue_url, "the queue of unread records")

    def __call__(self, record: Mapping[str, Any]) -> None:
        """Store one record. Raises Unavailable."""
        self._queue.put([json.dumps({"Records": [record]})])
