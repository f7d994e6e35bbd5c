"""Keys of accounts, requests and work lists; other contexts define the keys of other tables."""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

from redpacket.platform.settings import settings

WORK_SHARDS = settings.work_shards
"""Partitions per work list. Each accepts about 1,000 writes per second; a claim needs two.

All due packets of a sender are in one partition, so that only one sweep writes their balance.
"""


def request(user_id: str, route: str, key_hash: str) -> dict[str, str]:
    """Return the key of an idempotent request. Its row has no TTL, so even late retries find it."""
    return {"pk": f"user#{user_id}", "sk": f"request#{route}#{key_hash}"}


def request_copy(request_id: str) -> dict[str, str]:
    """Return the key of a request's copy in AccountsTable, which is also kept permanently."""
    return {"pk": f"request#{request_id}", "sk": "copy"}


def account(name: str) -> dict[str, str]:
    """Return the key of an account's balance in AccountsTable."""
    return {"pk": name, "sk": BALANCE}


BALANCE = "balance"
ENTRY_PREFIX = "entry#"
CLAIM_PREFIX = "claim#"


def entry(name: str, position_ms: int, transfer_id: str) -> dict[str, str]:
    """Return the key of an entry (one side of a transfer) in AccountsTable, sorted by time."""
    return {"pk": name, "sk": f"{ENTRY_PREFIX}{position_ms:013d}#{transfer_id}"}


def claim_entry(name: str, position_ms: int, packet_id: str, share_no: int) -> dict[str, str]:
    """Return the key of a settled claim's entry, in a key range that contains only claims."""
    return {"pk": name, "sk": f"{CLAIM_PREFIX}{position_ms:013d}#{packet_id}#{share_no}"}


def receipt(packet_id: str, share_no: int) -> dict[str, str]:
    """Return the key of a share's receipt in AccountsTable; each receipt has its own partition."""
    return {"pk": f"{RECEIPT_PREFIX}{packet_id}#{share_no}", "sk": RECEIPT}


RECEIPT_PREFIX = "paid#"
RECEIPT = "receipt"


def posted(transfer_id: str) -> dict[str, str]:
    """Return the key of the row that prevents a transfer from being posted twice.

    Transfers from and to providers need this row, because a restore may lose the payment or
    withdrawal that caused the transfer.
    """
    return {"pk": f"transfer#{transfer_id}", "sk": "posted"}


def work(kind: str, shard: int) -> str:
    """Return the partition of a work list's shard in a `by_work` index."""
    return f"{kind}#{shard}"


def work_shard(subject: str) -> int:
    """Return the work list shard for *subject*; any stable hash works."""
    return crc32(subject.encode()) % WORK_SHARDS


def list_position(at_ms: int, packet_id: str) -> str:
    """Return a sort key for a `by_list` index, which orders rows by time."""
    return f"{at_ms:013d}#{packet_id}"


def work_shards(group: int, groups: int) -> Sequence[int]:
    """Return the work shards for sweep number *group* (from 0) out of *groups*."""
    return range(group, WORK_SHARDS, groups)
