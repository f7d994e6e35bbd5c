"""Keys of public data: beacon rounds, commitments, and their log."""

from __future__ import annotations

from zlib import crc32


def beacon_round(chain_hash: str, round_no: int) -> dict[str, str]:
    """Return the key of a verified beacon round in TransparencyTable; digits keep the order."""
    return {"pk": f"beacon#{chain_hash}", "sk": f"{round_no:012d}"}


def commitment(id_hash: str) -> dict[str, str]:
    """Return the key of a commitment and its log index in CommitmentsTable."""
    return {"pk": id_hash}


COMMITMENT_SHARDS = 8
"""Partitions of the list of commitments that await the log; each takes 500 sends a second."""


def commitment_shard(id_hash: str) -> int:
    """Return the shard of the work list for a commitment."""
    return crc32(id_hash.encode()) % COMMITMENT_SHARDS


LOG_END = {"pk": "head", "sk": "end"}
"""Key of the log's current end in LogTable; every append has a condition on it."""

LOG_HEAD = {"pk": "head", "sk": "signed"}

LOG_ENTRIES_AT_ONCE = 1000


def log_entry(index: int) -> dict[str, str]:
    """Return the key of a log entry in LogTable; twelve digits keep the order."""
    return {"pk": log_entries(index), "sk": f"{index:012d}"}


def log_entries(index: int) -> str:
    """Return the partition of an entry in LogTable."""
    return f"entries#{index // LOG_ENTRIES_AT_ONCE}"


def log_place(id_hash: str) -> dict[str, str]:
    """Return the key of the index of an id's only entry in LogTable."""
    return {"pk": f"id#{id_hash}", "sk": "place"}


def log_node(level: int, number: int) -> dict[str, str]:
    """Return the key of a complete subtree's hash in LogTable."""
    return {"pk": f"node#{level}#{number}", "sk": "node"}
