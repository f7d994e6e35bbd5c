"""Keys of what is public: rounds of the beacon, commitments, and their log."""

from __future__ import annotations

from zlib import crc32


def beacon_round(chain_hash: str, round_no: int) -> dict[str, str]:
    """TransparencyTable: a round of a beacon that was verified; twelve digits keep their order."""
    return {"pk": f"beacon#{chain_hash}", "sk": f"{round_no:012d}"}


def commitment(id_hash: str) -> dict[str, str]:
    """CommitmentsTable: what was committed to of an id, and its place in the log."""
    return {"pk": id_hash}


COMMITMENT_SHARDS = 8
"""Partitions of the list of commitments that wait for the log; each takes 500 sends a second."""


def commitment_shard(id_hash: str) -> int:
    """CommitmentsTable, index by_work: in which of them a commitment waits."""
    return crc32(id_hash.encode()) % COMMITMENT_SHARDS


LOG_END = {"pk": "head", "sk": "end"}
"""LogTable: how far the log is; every append is a condition on it."""

LOG_HEAD = {"pk": "head", "sk": "signed"}
"""LogTable: the newest signed head."""

LOG_ENTRIES_AT_ONCE = 1000
"""How many entries are in one partition."""


def log_entry(index: int) -> dict[str, str]:
    """LogTable: an entry of the log; twelve digits keep their order."""
    return {"pk": log_entries(index), "sk": f"{index:012d}"}


def log_entries(index: int) -> str:
    """LogTable: the partition of an entry."""
    return f"entries#{index // LOG_ENTRIES_AT_ONCE}"


def log_node(level: int, number: int) -> dict[str, str]:
    """LogTable: the hash of a complete subtree of the log's tree."""
    return {"pk": f"node#{level}#{number}", "sk": "node"}
