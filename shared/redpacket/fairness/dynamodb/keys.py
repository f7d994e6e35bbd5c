"""DynamoDB keys for public data: commitments and their log."""

from __future__ import annotations

from zlib import crc32


def commitment(id_hash: str) -> dict[str, str]:
    """Return the CommitmentsTable key of the row with a commitment and its log index."""
    return {"pk": id_hash}


COMMITMENT_SHARDS = 16
"""Partitions of the list of commitments that await the log; each accepts 500 commitments/s."""


def commitment_shard(id_hash: str) -> int:
    """Return the shard of the work list for a commitment."""
    return crc32(id_hash.encode()) % COMMITMENT_SHARDS


LOG_END = {"pk": "head", "sk": "end"}
"""LogTable key of the log's current end. An append fails if the end changed since it was read."""

LOG_HEAD = {"pk": "head", "sk": "signed"}

LOG_ENTRIES_PER_ROW = 128
"""Entries in a full row of 20 KB. Longer rows make appends of few entries more expensive. Shorter
rows reduce the entries per append, because a transaction has at most 100 rows.
"""


def log_entries(row_no: int) -> dict[str, str]:
    """Return the LogTable key of a row of entries, whose first index is 128 * *row_no*."""
    return {"pk": f"entries#{row_no}", "sk": "entries"}


def log_place(id_hash: str) -> dict[str, str]:
    """Return the LogTable key of the row with the index of an id's only entry."""
    return {"pk": f"id#{id_hash}", "sk": "place"}


def log_node(level: int, number: int) -> dict[str, str]:
    """Return the LogTable key of the hash of a complete subtree that spans at least one row."""
    return {"pk": f"node#{level}#{number}", "sk": "node"}
