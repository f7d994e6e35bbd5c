"""SQS messages: notices from providers, and claims to pay."""

import json
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from redpacket.ledger.provider_name import ProviderName
from redpacket.packets.clients.sqs_payouts import SqsPayouts, settle_message
from redpacket.packets.model.claim import ShareRef
from redpacket.payments.clients.sqs_notices import SqsNotices, read_notice
from redpacket.payments.model.provider import ProviderEvent, ProviderEventKind
from redpacket.platform.errors import InvalidRequest, Unavailable
from redpacket.platform.user import User
from testing.builders import a_packet_id

NOTICE = ProviderEvent(ProviderEventKind.REFUND, "notice", "rf1", "outside")
MESSAGE = {
    "channel": "wechat",
    "kind": "refund",
    "notice_id": "notice",
    "number": "rf1",
    "outside_no": "outside",
}


class _Queue:
    """SQS client that refuses the first *refused* messages of each batch."""

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


def _of(client: _Queue) -> _Queue:
    return client


def test_many_notices_are_queued_ten_at_a_time() -> None:
    client = _Queue()
    notices = [
        ProviderEvent(ProviderEventKind.BALANCE, "notice", f"user-{number}") for number in range(21)
    ]

    SqsNotices(lambda: client, "queue").put(ProviderName.WECHAT, *notices)
    SqsNotices(lambda: client, "queue").put(ProviderName.WECHAT)

    assert client.sizes == [10, 10, 1]
    assert [read_notice(body)[1] for body in client.bodies] == notices


def test_every_claim_is_queued_ten_at_a_time() -> None:
    packet_id = a_packet_id()
    for count, sizes in ((1, [1]), (10, [10]), (25, [10, 10, 5])):
        client = _Queue()
        refs = [ShareRef(packet_id, number) for number in range(1, count + 1)]

        SqsPayouts(partial(_of, client), "queue", lambda: 0).put(refs)

        assert client.sizes == sizes
        bodies = [json.loads(body)["body"] for body in client.bodies]
        assert [body["share_no"] for body in bodies] == list(range(1, count + 1))


def test_a_message_that_the_queue_refuses_is_not_reported_as_queued() -> None:
    def refusing() -> _Queue:
        return _Queue(refused=1)

    with pytest.raises(Unavailable, match="refused 1 messages"):
        SqsNotices(refusing, "queue").put(ProviderName.WECHAT, NOTICE, NOTICE)
    with pytest.raises(Unavailable, match="refused 1 messages"):
        SqsPayouts(refusing, "queue", lambda: 0).put([ShareRef("p", no) for no in (1, 2, 3)])


def test_a_repeated_message_has_the_time_of_its_first_send() -> None:
    ref = ShareRef(a_packet_id(), 7, User("ann", host_id="ann@host"))

    assert settle_message(ref, 5)["occurred_at_ms"] == 5
    assert settle_message(replace(ref, said_at_ms=3), 5)["occurred_at_ms"] == 3


def test_a_notice_is_received_as_it_was_sent() -> None:
    for kind in ProviderEventKind:
        client = _Queue()
        notice = ProviderEvent(kind, "notice", "number")

        SqsNotices(partial(_of, client), "queue").put(ProviderName.HOST, notice)

        (body,) = client.bodies
        assert read_notice(body) == (ProviderName.HOST, notice)


def test_a_message_has_five_fields() -> None:
    client = _Queue()

    SqsNotices(lambda: client, "queue").put(ProviderName.WECHAT, NOTICE)

    assert [json.loads(body) for body in client.bodies] == [MESSAGE]
    assert read_notice(client.bodies[0]) == (ProviderName.WECHAT, NOTICE)


def test_a_message_that_is_not_a_notice_is_refused() -> None:
    changes: list[dict[str, Any]] = [
        {"channel": "bank"},
        {"kind": "deposit"},
        {"number": ""},
        {"number": 7},
        *({name: "7" * 129} for name in ("number", "outside_no", "notice_id")),
        {"amount_fen": 1},
    ]
    without = {name: MESSAGE[name] for name in MESSAGE if name != "outside_no"}
    changed = [json.dumps(MESSAGE | change) for change in changes]
    for body in ("", "[" * 100_000, "null", "[]", json.dumps(without), *changed):
        with pytest.raises(InvalidRequest):
            pytest.fail(f"{body}: {read_notice(body)}")
