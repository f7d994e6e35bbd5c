"""The payout queue and its dead letters on SQS."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

from redpacket.adapters.aws.errors import translated
from redpacket.adapters.aws.messages import settle_message
from redpacket.domain.claim import ShareRef
from redpacket.domain.errors import Unavailable

_MESSAGES_PER_CALL = 10
"""SQS' own limit of a batch."""


class SqsPayouts:
    """Implements PayoutQueue; connects at the first winner."""

    def __init__(
        self, connect: Callable[[], Any], queue_url: str, now_ms: Callable[[], int]
    ) -> None:
        self._connect = connect
        self._queue_url = queue_url
        self._now_ms = now_ms
        self._client: Any = None

    def put(self, refs: Iterable[ShareRef], *, delay_s: int = 0) -> None:
        options = {"DelaySeconds": delay_s} if delay_s else {}
        waiting = iter(refs)
        with translated("the payout queue"):
            self._client = self._client or self._connect()
            while chunk := list(islice(waiting, _MESSAGES_PER_CALL)):
                self._put_chunk(chunk, options)

    def _put_chunk(self, chunk: list[ShareRef], options: dict[str, int]) -> None:
        bodies = [json.dumps(settle_message(ref, self._now_ms())) for ref in chunk]
        if len(bodies) == 1:
            self._client.send_message(QueueUrl=self._queue_url, MessageBody=bodies[0], **options)
            return
        batch = [
            {"Id": str(number), "MessageBody": body, **options}
            for number, body in enumerate(bodies)
        ]
        answer = self._client.send_message_batch(QueueUrl=self._queue_url, Entries=batch)
        if answer.get("Failed"):
            msg = f"the payout queue refused {len(answer['Failed'])} messages"
            raise Unavailable(msg)


class SqsDeadLetters:
    """Implements DeadLetters."""

    def __init__(self, connect: Callable[[], Any], queue_url: str) -> None:
        self._connect = connect
        self._queue_url = queue_url

    def count(self) -> int:
        name = "ApproximateNumberOfMessages"
        with translated("the payout DLQ"):
            answer = self._connect().get_queue_attributes(
                QueueUrl=self._queue_url, AttributeNames=[name]
            )
        return int(answer["Attributes"][name])
