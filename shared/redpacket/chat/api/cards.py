"""Batch handler for the card queue."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from redpacket.chat.errors import ChatBusy, ChatGone
from redpacket.platform.runtime import EventLogger


def edit_batch(
    records: Sequence[Mapping[str, Any]],
    *,
    edit: Callable[[str], None],
    delay: Callable[[str, int], None],
    logger: EventLogger,
) -> dict[str, list[dict[str, str]]]:
    """Edit the cards that the messages name; return the partial batch response for SQS.

    If the platform limits calls, the message is redelivered after the delay that the platform
    asks for. A permanent refusal completes the message.
    """
    failed: list[str] = []
    for record in records:
        try:
            edit(json.loads(record["body"])["packet_id"])
        except ChatBusy as error:
            delay(record["receiptHandle"], error.retry_after_s or 1)
            failed.append(record["messageId"])
        except ChatGone as error:
            logger.failure("card_not_edited", error, message_id=record["messageId"])
        except Exception as error:  # noqa: BLE001 - one card must not block the others
            logger.failure("card_not_edited", error, message_id=record["messageId"])
            failed.append(record["messageId"])
    return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in failed]}
