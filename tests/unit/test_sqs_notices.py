from __future__ import annotations

import json
from typing import Any

import pytest

from redpacket.adapters.aws.sqs_notices import SqsNotices, read_notice
from redpacket.domain.errors import InvalidRequest, Unavailable
from redpacket.domain.gateway import Channel, Notice, NoticeKind

NOTICE = Notice(NoticeKind.REFUND, "notice", "rf1", "outside")
MESSAGE = {
    "channel": "wechat",
    "kind": "refund",
    "notice_id": "notice",
    "number": "rf1",
    "outside_no": "outside",
}


class _Queue:
    """A client of SQS that refuses *refused* of each batch's messages."""

    def __init__(self, refused: int = 0) -> None:
        self.bodies: list[str] = []
        self.sizes: list[int] = []
        self._refused = refused

    def send_message(self, *, QueueUrl: str, MessageBody: str) -> Any:  # noqa: N803
        assert QueueUrl == "queue"
        self.sizes.append(1)
        self.bodies.append(MessageBody)
        return {}

    def send_message_batch(self, *, QueueUrl: str, Entries: list[dict[str, str]]) -> Any:  # noqa: N803
        assert QueueUrl == "queue"
        assert len({entry["Id"] for entry in Entries}) == len(Entries)
        self.sizes.append(len(Entries))
        self.bodies += [entry["MessageBody"] for entry in Entries[self._refused :]]
        failed = [{"Id": entry["Id"]} for entry in Entries[: self._refused]]
        return {"Failed": failed} if failed else {"Successful": []}


def test_many_notices_are_queued_ten_at_a_time() -> None:
    client = _Queue()
    notices = [Notice(NoticeKind.BALANCE, "notice", f"user-{number}") for number in range(21)]

    SqsNotices(lambda: client, "queue").put(Channel.WECHAT, *notices)
    SqsNotices(lambda: client, "queue").put(Channel.WECHAT)

    assert client.sizes == [10, 10, 1]
    assert [read_notice(body)[1] for body in client.bodies] == notices


def test_a_notice_that_the_queue_refuses_of_a_batch_is_not_taken_for_queued() -> None:
    with pytest.raises(Unavailable, match="refused 1 messages"):
        SqsNotices(lambda: _Queue(refused=1), "queue").put(Channel.WECHAT, NOTICE, NOTICE)


@pytest.mark.parametrize("kind", NoticeKind)
def test_a_notice_comes_out_of_the_queue_as_it_went_in(kind: NoticeKind) -> None:
    client = _Queue()
    notice = Notice(kind, "notice", "number")

    SqsNotices(lambda: client, "queue").put(Channel.HOST, notice)

    (body,) = client.bodies
    assert read_notice(body) == (Channel.HOST, notice)


def test_a_message_has_five_fields() -> None:
    client = _Queue()

    SqsNotices(lambda: client, "queue").put(Channel.WECHAT, NOTICE)

    assert [json.loads(body) for body in client.bodies] == [MESSAGE]
    assert read_notice(client.bodies[0]) == (Channel.WECHAT, NOTICE)


@pytest.mark.parametrize(
    "body",
    [
        "",
        "[" * 100_000,
        "null",
        "[]",
        json.dumps(MESSAGE | {"channel": "bank"}),
        json.dumps(MESSAGE | {"kind": "deposit"}),
        json.dumps(MESSAGE | {"number": ""}),
        json.dumps(MESSAGE | {"number": 7}),
        json.dumps(MESSAGE | {"number": "7" * 129}),
        json.dumps(MESSAGE | {"outside_no": "7" * 129}),
        json.dumps(MESSAGE | {"notice_id": "7" * 129}),
        json.dumps(MESSAGE | {"amount_fen": 1}),
        json.dumps({name: MESSAGE[name] for name in MESSAGE if name != "outside_no"}),
    ],
)
def test_a_message_that_is_not_a_notice_is_refused(body: str) -> None:
    with pytest.raises(InvalidRequest):
        read_notice(body)
