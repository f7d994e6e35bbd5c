"""Reads of PaymentsTable that several adapters share."""

from __future__ import annotations

from typing import Any

from redpacket.ledger.dynamodb import keys
from redpacket.payments.dynamodb.items import SHARDS
from redpacket.platform.dynamodb.client import Dynamo, values


def oldest(
    dynamo: Dynamo, table: str, kind: str, until_ms: int, limit: int
) -> list[dict[str, Any]]:
    """Return the oldest rows of a work list."""
    rows = [
        row
        for shard in SHARDS
        for row in dynamo.query_some(
            table,
            limit,
            IndexName="by_work",
            KeyConditionExpression="work_pk = :work AND work_at_ms <= :until_ms",
            ExpressionAttributeValues=values(work=keys.work(kind, shard), until_ms=until_ms),
        )
    ]
    return sorted(rows, key=lambda row: int(row["work_at_ms"]))[:limit]
