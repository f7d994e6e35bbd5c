from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from redpacket.adapters.aws.messages import settle_message
from redpacket.adapters.aws.sqs_payouts import SqsPayouts
from redpacket.domain.claim import ShareRef
from redpacket.domain.errors import Unavailable
from redpacket.domain.packet import Person
from testing.builders import a_packet_id


class _Queue:
    """A client of SQS that refuses *refused* of each batch's messages."""

    def __init__(self, refused: int = 0) -> None:
        self.share_numbers: list[int] = []
        self.sizes: list[int] = []
        self._refused = refused

    def send_message(self, *, QueueUrl: str, MessageBody: str) -> Any:  # noqa: N803
        return self.send_message_batch(QueueUrl=QueueUrl, Entries=[{"MessageBody": MessageBody}])

    def send_message_batch(self, *, QueueUrl: str, Entries: list[dict[str, Any]]) -> Any:  # noqa: N803
        self.sizes.append(len(Entries))
        taken = Entries[self._refused :]
        self.share_numbers += [
            json.loads(entry["MessageBody"])["body"]["share_no"] for entry in taken
        ]
        failed = [{"Id": entry.get("Id")} for entry in Entries[: self._refused]]
        return {"Failed": failed} if failed else {"Successful": []}


def _payouts(client: _Queue) -> SqsPayouts:
    return SqsPayouts(lambda: client, "queue", lambda: 0)


def _some_refs(count: int) -> list[ShareRef]:
    packet_id = a_packet_id()
    return [ShareRef(packet_id, number) for number in range(1, count + 1)]


@pytest.mark.parametrize(("count", "sizes"), [(1, [1]), (10, [10]), (25, [10, 10, 5])])
def test_every_claim_is_queued_ten_at_a_time(count: int, sizes: list[int]) -> None:
    queue = _Queue()

    _payouts(queue).put(_some_refs(count))

    assert queue.sizes == sizes
    assert queue.share_numbers == list(range(1, count + 1))


def test_a_message_that_the_queue_refuses_of_a_batch_is_not_taken_for_queued() -> None:
    queue = _Queue(refused=1)

    with pytest.raises(Unavailable, match="refused 1 messages"):
        _payouts(queue).put(_some_refs(3))


def test_a_message_that_is_sent_again_says_when_it_was_said_first() -> None:
    ref = ShareRef(a_packet_id(), 7, Person("ann", host_id="ann@host"))

    assert settle_message(ref, 5)["occurred_at_ms"] == 5
    assert settle_message(replace(ref, said_at_ms=3), 5)["occurred_at_ms"] == 3
