"""FIFO queue of cards to edit."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from redpacket.platform.aws.sqs import SqsQueue

_STEP_MS = 3_000
_HIDDEN_S_MAX = 12 * 3_600
"""Maximum visibility timeout of SQS, in seconds."""


class SqsCards:
    """SQS implementation of CardQueue.

    SQS keeps one message per packet and time step. The queue delays each message until the step is
    over, so that the edit shows all changes made during the step.
    """

    def __init__(self, connect: Callable[[], Any], queue_url: str) -> None:
        self._queue = SqsQueue(connect, queue_url, "the queue of cards")

    def put(self, packet_ids: Sequence[str], at_ms: int) -> None:
        step = at_ms // _STEP_MS
        self._queue.put_messages(
            {
                "MessageBody": json.dumps({"packet_id": packet_id}),
                "MessageGroupId": packet_id,
                "MessageDeduplicationId": f"{packet_id}.{step}",
            }
            for packet_id in packet_ids
        )

    def delay(self, receipt_handle: str, seconds: int) -> None:
        """Deliver a message again after *seconds*. Raises Unavailable."""
        self._queue.hide(receipt_handle, min(seconds, _HIDDEN_S_MAX))
