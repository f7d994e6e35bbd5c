"""SQS queue of provider notices, which tell the transfer function what to query."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from redpacket.ledger.provider_name import ProviderName
from redpacket.payments.model.provider import ProviderEvent, ProviderEventKind
from redpacket.platform.aws.sqs import SqsQueue
from redpacket.platform.errors import InvalidRequest

_LENGTH_MAX = 128


class SqsNotices:
    """SQS implementation of NoticeQueue; it connects on first use."""

    def __init__(self, connect: Callable[[], Any], queue_url: str) -> None:
        self._queue = SqsQueue(connect, queue_url, "the queue of notices")

    def put(self, channel: ProviderName, *notices: ProviderEvent, delay_s: int = 0) -> None:
        bodies = [json.dumps(_message(channel, notice)) for notice in notices]
        self._queue.put(bodies, delay_s=delay_s)


def _message(channel: ProviderName, notice: ProviderEvent) -> dict[str, str]:
    return {
        "channel": channel,
        "kind": notice.kind,
        "notice_id": notice.notice_id,
        "number": notice.number,
        "outside_no": notice.outside_no,
    }


def read_notice(body: str) -> tuple[ProviderName, ProviderEvent]:
    """Parse a message. Raises InvalidRequest if it is malformed."""
    try:
        message = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise InvalidRequest.of("message", "is not valid JSON") from error
    match message:
        case {
            "channel": str(channel),
            "kind": str(kind),
            "notice_id": str(notice_id),
            "number": str(number),
            "outside_no": str(outside_no),
            **more,
        } if (
            not more
            and number
            and channel in set(ProviderName)
            and kind in set(ProviderEventKind)
            and max(map(len, (notice_id, number, outside_no))) <= _LENGTH_MAX
        ):
            return ProviderName(channel), ProviderEvent(
                ProviderEventKind(kind), notice_id, number, outside_no
            )
    raise InvalidRequest.of("message", "is not a notice")
