"""Sending of messages to SQS, in batches if there are several."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

from redpacket.platform.errors import Unavailable

_MESSAGES_PER_CALL = 10


def put_messages(
    client: Any,  # noqa: ANN401 - boto3's clients have no type at run time
    queue_url: str,
    bodies: Iterable[str],
    *,
    delay_s: int = 0,
) -> None:
    """Send all *bodies* in order. Raises Unavailable if the queue rejects some."""
    options = {"DelaySeconds": delay_s} if delay_s else {}
    remaining = iter(bodies)
    while chunk := list(islice(remaining, _MESSAGES_PER_CALL)):
        if len(chunk) == 1:
            client.send_message(QueueUrl=queue_url, MessageBody=chunk[0], **options)
            continue
        batch = [
            {"Id": str(number), "MessageBody": body, **options} for number, body in enumerate(chunk)
        ]
        answer = client.send_message_batch(QueueUrl=queue_url, Entries=batch)
        if answer.get("Failed"):
            raise Unavailable(f"a queue refused {len(answer['Failed'])} messages")
