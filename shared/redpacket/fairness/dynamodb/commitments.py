"""Commitments in CommitmentsTable, each written in the transaction of its packet or campaign."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain
from operator import itemgetter
from typing import Any

from redpacket.fairness.dynamodb import keys as log_keys
from redpacket.fairness.model.log import Commitment, CommitmentKind, NotedCommitment
from redpacket.ledger.dynamodb import keys
from redpacket.platform.dynamodb.client import Dynamo, Operation, put, update, values

HAS_NO_OTHER_PLACE = (
    "attribute_exists(pk) AND attribute_not_exists(log_index) OR log_index = :index"
)

_DIGEST = re.compile("[0-9a-f]{64}")


class DynamoCommitments:
    """Repository of commitments and of the list of commitments that await the log."""

    def __init__(self, dynamo: Dynamo) -> None:
        self._dynamo = dynamo
        self._table = dynamo.tables.commitments

    def list_waiting(self, limit: int) -> list[str]:
        """Return id hashes of about *limit* waiting commitments, oldest first; the list may lag."""
        fair = -(-limit // log_keys.COMMITMENT_SHARDS)
        shards = [
            self._dynamo.query_some(
                self._table,
                fair,
                IndexName="by_work",
                KeyConditionExpression="work_pk = :work",
                ExpressionAttributeValues=values(work=keys.work("log", shard)),
            )
            for shard in range(log_keys.COMMITMENT_SHARDS)
        ]
        rows = sorted(chain(*shards), key=itemgetter("work_at_ms"))
        return [str(row["pk"]) for row in rows]

    def find(self, id_hashes: Sequence[str]) -> list[NotedCommitment]:
        """Return the stored commitments for these hashes, without malformed rows."""
        row_keys = [log_keys.commitment(id_hash) for id_hash in dict.fromkeys(id_hashes)]
        rows = self._dynamo.get_many(self._table, row_keys, is_strong=True)
        return [noted for row in rows if (noted := _noted_of(row))]


def note_commitment(table: str, commitment: Commitment) -> list[Operation]:
    """Return the write that stores a commitment, for its packet's or campaign's transaction."""
    return [
        put(
            table,
            {
                **log_keys.commitment(commitment.id_hash),
                "kind": commitment.kind,
                "commitment": commitment.commitment,
                "at_ms": commitment.at_ms,
                "work_pk": keys.work("log", log_keys.commitment_shard(commitment.id_hash)),
                "work_at_ms": commitment.at_ms,
            },
        )
    ]


def place_commitment(table: str, id_hash: str, index: int) -> Operation:
    """Return the update that assigns a commitment's log index; the update may be repeated."""
    return update(
        table,
        log_keys.commitment(id_hash),
        "SET log_index = :index REMOVE work_pk, work_at_ms",
        condition=HAS_NO_OTHER_PLACE,
        index=index,
    )


def _noted_of(row: dict[str, Any]) -> NotedCommitment | None:
    """Parse a row; return None for a malformed row, so that it does not block the others."""
    try:
        commitment = Commitment(
            CommitmentKind(row["kind"]), row["pk"], row["commitment"], row["at_ms"]
        )
        texts = commitment.id_hash, commitment.commitment
        # Check the type: the time is part of the leaf, which must hash the same after each read.
        is_time = type(commitment.at_ms) is int and commitment.at_ms >= 0
        if not is_time or not all(_DIGEST.fullmatch(text) for text in texts):
            return None
        return NotedCommitment(commitment, row.get("log_index"))
    except (KeyError, ValueError, TypeError):
        return None
