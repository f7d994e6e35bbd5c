"""In-memory SQS behind a faulty wire: late, unordered and repeated deliveries, partly failed
batches, and dead letters.
"""

import itertools
import json
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from local.packet_ids import PUBLISHED_KEYS
from local.user_ids import PUBLISHED_KEY
from redpacket.packets.api.queue import _ref_of
from redpacket.packets.clients.sqs_payouts import settle_message
from redpacket.packets.model.claim import ShareRef
from testing.faulty import Faults, Wire, throttled, timed_out

# The use cases that read messages verify the ids in them.
os.environ.setdefault("PACKET_ID_KEYS", PUBLISHED_KEYS)
os.environ.setdefault("USER_ID_KEY", PUBLISHED_KEY)

RECEIVES_MAX = 5
"""Receives before a message goes to the DLQ, as in the template."""

_INVISIBLE_MS = (0, 500, 3_000)
_FORGOTTEN = 0.05
_TWICE = 0.2


@dataclass(eq=False)
class Message:
    """Message; *visible_at_ms* is the time from which it can be received again."""

    message_id: str
    body: str
    ref: ShareRef
    visible_at_ms: int
    receive_count: int = 0

    @property
    def record(self) -> dict[str, str]:
        """Return the message as a record of a Lambda event, with only its id and body."""
        return {"messageId": self.message_id, "body": self.body}


class FaultySqs:
    """SQS client for senders, and the queue that a worker receives from. *acknowledged* is called
    with each claim whose last message is deleted, and *queued* with each claim that is queued.
    """

    def __init__(
        self,
        wire: Wire,
        faults: Faults,
        now_ms: Callable[[], int],
        acknowledged: Callable[[ShareRef], None],
        queued: Callable[[ShareRef], None],
    ) -> None:
        self.messages: list[Message] = []
        self.dead: list[Message] = []
        self.forged: list[ShareRef] = []
        self.partial_count = 0
        self._wire = wire
        self._faults = faults
        self._random = faults.random
        self._now_ms = now_ms
        self._acknowledged = acknowledged
        self._queued = queued
        self._ids = itertools.count(1)

    def send_message(self, *, QueueUrl: str, MessageBody: str, DelaySeconds: int = 0) -> Any:  # noqa: N803
        self._send(lambda: self._add(MessageBody, DelaySeconds), "SendMessage")
        return {}

    def send_message_batch(self, *, QueueUrl: str, Entries: list[dict[str, Any]]) -> Any:  # noqa: N803
        assert 1 <= len(Entries) <= 10
        failed: list[dict[str, Any]] = []

        def add() -> None:
            for entry in Entries:
                if self._random.random() < self._faults.rate:
                    failed.append({"Id": entry["Id"], "Code": "ThrottlingException"})
                else:
                    self._add(entry["MessageBody"], entry.get("DelaySeconds", 0))

        self._send(add, "SendMessageBatch")
        self.partial_count += 0 < len(failed) < len(Entries)
        return {"Failed": failed} if failed else {}

    def receive(self) -> list[Message]:
        """Return up to six messages, one of them perhaps twice. All stay until deleted or dead."""
        now_ms = self._now_ms()
        visible = [message for message in self.messages if message.visible_at_ms <= now_ms]
        batch = self._random.sample(visible, min(self._random.randint(1, 6), len(visible)))
        for message in batch:
            message.visible_at_ms = now_ms + self._random.choice(_INVISIBLE_MS)
            message.receive_count += 1
            if message.receive_count > RECEIVES_MAX:
                self.messages.remove(message)
                self.dead.append(message)
        batch = [message for message in batch if message.receive_count <= RECEIVES_MAX]
        if batch and self._random.random() < _TWICE:
            batch.append(self._random.choice(batch))
        return batch

    def delete(self, messages: Iterable[Message]) -> None:
        """Delete messages. If faults are on, some deletions are lost."""
        for message in messages:
            if message not in self.messages:
                continue
            if self._faults.rate and self._random.random() < _FORGOTTEN:
                continue
            self.messages.remove(message)
            if message.ref not in self.refs:
                self._acknowledged(message.ref)

    @property
    def refs(self) -> list[ShareRef]:
        """Return the claims that the queued messages name."""
        return [message.ref for message in self.messages]

    def forge(self, ref: ShareRef) -> None:
        """Queue a message about a share that was not claimed."""
        self.forged.append(ref)
        self._put(json.dumps(settle_message(ref, self._now_ms())), 0)

    def _send(self, do: Callable[[], None], operation: str) -> None:
        self._wire.call(do, lost=lambda: throttled(operation), in_doubt=timed_out)

    def _add(self, body: str, delay_s: int) -> None:
        self._queued(self._put(body, delay_s))

    def _put(self, body: str, delay_s: int) -> ShareRef:
        ref, visible_at_ms = _ref_of(json.loads(body)), self._now_ms() + 1000 * delay_s
        self.messages.append(Message(f"message-{next(self._ids)}", body, ref, visible_at_ms))
        return ref
