"""Sending of messages to SQS, in batches if there are several."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from redpacket.platform.aws.errors import translated
from redpacket.platform.errors import Unavailable

_MESSAGES_PER_CALL = 10


class SqsQueue:
    """Queue that connects at first use; *name* is for errors."""

    def __init__(self, connect: Callable[[], Any], url: str, name: str) -> None:
        self._connect = connect
        self._url = url
        self._name = name
        self._client: Any = None

    def put(self, bodies: Iterable[str], *, delay_s: int = 0) -> None:
        """Send all *bodies* in order. Raises Unavailable, also if the queue rejects some."""
        options = {"DelaySeconds": delay_s} if delay_s else {}
        remaining = iter(bodies)
        with translated(self._name):
            self._client = self._client or self._connect()
            while chunk := list(islice(remaining, _MESSAGES_PER_CALL)):
                self._send(chunk, options)

    def _send(self, bodies: Sequence[str], options: Mapping[str, int]) -> None:
        if len(bodies) == 1:
            self._client.send_message(QueueUrl=self._url, MessageBody=bodies[0], **options)
            return
        batch = [
            {"Id": str(number), "MessageBody": body, **options}
            for number, body in enumerate(bodies)
        ]
        answer = self._client.send_message_batch(QueueUrl=self._url, Entries=batch)
        if answer.get("Failed"):
            raise Unavailable(f"a queue refused {len(answer['Failed'])} messages")
