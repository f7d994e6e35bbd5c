"""Payout queue and its dead-letter queue, in SQS."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from redpacket.packets.model.claim import ShareRef
from redpacket.platform.aws.errors import translated
from redpacket.platform.aws.sqs import SqsQueue

SETTLE = "settle_claim"


class SqsPayouts:
    """SQS implementation of PayoutQueue; it connects on first use."""

    def __init__(
        self,
        connect: Callable[[], Any],
        queue_url: str,
        now_ms: Callable[[], int],
        request_id: Callable[[], str] = str,
    ) -> None:
        self._queue = SqsQueue(connect, queue_url, "the payout queue")
        self._now_ms = now_ms
        self._request_id = request_id

    def put(self, refs: Iterable[ShareRef], *, delay_s: int = 0) -> None:
        request_id = self._request_id()
        bodies = (json.dumps(settle_message(ref, self._now_ms(), request_id)) for ref in refs)
        self._queue.put(bodies, delay_s=delay_s)


def settle_message(ref: ShareRef, now_ms: int, request_id: str = "") -> dict[str, Any]:
    """Return a claim's message, without the amount; its message id depends only on the claim."""
    message: dict[str, Any] = {
        "message_id": f"settle:{ref.packet_id}:{ref.share_no}",
        "kind": SETTLE,
        "version": 1,
        # A message that is queued again keeps the time of the original message.
        "occurred_at_ms": ref.said_at_ms or now_ms,
        "body": {"packet_id": ref.packet_id, "share_no": ref.share_no},
    }
    if ref.claimer and ref.claimer.host_id:
        message["taker"] = {"host_id": ref.claimer.host_id, "nickname": ref.claimer.nickname}
    if request_id:
        message["request_id"] = request_id
    return message


class SqsDeadLetters:
    """AWS implementation of DeadLetters."""

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
