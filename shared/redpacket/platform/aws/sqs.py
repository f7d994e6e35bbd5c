"""Client for one SQS queue: sends messages in batches, and delays redeliveries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from redpacket.platform.aws.errors import translated
from redpacket.platform.errors import Unavailable

_MESSAGES_PER_CALL = 10


class SqsQueue:
    """SQS queue that connects at first use; *name* identifies the queue in error messages."""

    def __init__(self, connect: Callable[[], Any], url: str, name: str) -> None:
        self._connect = connect
        self._url = url
        self._name = name
        self._client: Any = None

    def put(self, bodies: Iterable[str], *, delay_s: int = 0) -> None:
        """Send all *bodies* in order. Raises Unavailable, even if only some are rejected."""
        options = {"DelaySeconds": delay_s} if delay_s else {}
        self.put_messages({"MessageBody": body, **options} for body in bodies)

    def put_messages(self, messages: Iterable[Mapping[str, Any]]) -> None:
        """Send messages like `put`; each message has SQS's parameter names."""
        remaining = iter(messages)
        with translated(self._name):
            while chunk := list(islice(remaining, _MESSAGES_PER_CALL)):
                self._send(chunk)

    def hide(self, receipt_handle: str, seconds: int) -> None:
        """Make SQS redeliver a received message after *seconds*. Raises Unavailable."""
        with translated(self._name):
            self._open().change_message_visibility(
                QueueUrl=self._url, ReceiptHandle=receipt_handle, VisibilityTimeout=seconds
            )

    def _open(self) -> Any:  # noqa: ANN401 - boto3's clients have no type at run time
        self._client = self._client or self._connect()
        return self._client

    def _send(self, messages: Sequence[Mapping[str, Any]]) -> None:
        client = self._open()
        if len(messages) == 1:
            client.send_message(QueueUrl=self._url, **messages[0])
            return
        batch = [{"Id": str(number), **message} for number, message in enumerate(messages)]
        answer = client.send_message_batch(QueueUrl=self._url, Entries=batch)
        if answer.get("Failed"):
            raise Unavailable(f"a queue refused {len(answer['Failed'])} messages")
