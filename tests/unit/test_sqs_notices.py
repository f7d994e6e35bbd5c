from __future__ import annotations

import json
from typing import Any

import pytest

from redpacket.adapters.aws.sqs_notices import SqsNotices, read_notice
from redpacket.domain.errors import InvalidRequest
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
    """A client of SQS."""

    def __init__(self) -> None:
        self.bodies: list[str] = []

    def send_message(self, *, QueueUrl: str, MessageBody: str) -> Any:  # noqa: N803
        assert QueueUrl == "queue"
        self.bodies.append(MessageBody)


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
