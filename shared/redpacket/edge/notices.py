"""Batch handler of gateway notices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from redpacket.edge.telemetry import journal


def follow_batch(
    records: Sequence[dict[str, Any]], *, follow: Callable[[str], None]
) -> dict[str, list[dict[str, str]]]:
    """Follow each notice; return SQS's partial batch response. The sweep covers lost ones."""
    failed: list[str] = []
    for record in records:
        try:
            follow(record["body"])
        except Exception as error:  # noqa: BLE001 - one notice must not block the others
            journal.failure("notice_not_followed", error, message_id=record["messageId"])
            failed.append(record["messageId"])
    return {"batchItemFailures": [{"itemIdentifier": one} for one in failed]}
