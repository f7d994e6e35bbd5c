"""Keys of packets, shares, quotas, accounts and switches; those of other tables stand beside."""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

from redpacket.domain.packet import fate_partitions, part_count

WORK_SHARDS = 32
"""Partitions of each work list: one takes about 1,000 writes a second, and a claim is two.

A packet that is due is in its sender's: one sweep at a time writes a sender's balance.
"""


def switches() -> dict[str, str]:
    """SwitchesTable: its one row."""
    return {"pk": "switches"}


def packet(packet_id: str) -> dict[str, str]:
    """PacketsTable: the packet row."""
    return {"pk": f"packet#{packet_id}", "sk": PACKET}


PACKET = "packet"


def paid_packet(number: str) -> dict[str, str]:
    """PacketsTable: which packet waits for a payment, by the payment's number."""
    return {"pk": f"payment#{number}", "sk": "payment"}


def part_end(packet_id: str, part: int) -> dict[str, str]:
    """PacketsTable: the final sums of one of a packet's parts."""
    return {"pk": f"packet#{packet_id}", "sk": f"{PART_END_PREFIX}{part:02d}"}


PART_END_PREFIX = "end#"


def final_page(packet_id: str, partition: int, last_no: int) -> dict[str, str]:
    """PacketsTable: a page of claims of a packet that is closed, by its last share."""
    return {"pk": f"final#{packet_id}#{partition}", "sk": f"{FINAL_PREFIX}{last_no:07d}"}


FINAL_PREFIX = "page#"


def settled_sums(packet_id: str) -> dict[str, str]:
    """PacketsTable: how many claims of a large packet are settled, for its record page."""
    return {"pk": f"settled#{packet_id}", "sk": "sums"}


def share(packet_id: str, share_no: int) -> dict[str, str]:
    """SharesTable: a share's fate; seven digits keep 1,000,000 shares in order."""
    partition = (share_no - 1) % fate_partitions(packet_id)
    return {**shares(packet_id, partition), "sk": f"{SHARE_PREFIX}{share_no:07d}"}


def shares(packet_id: str, partition: int) -> dict[str, str]:
    """SharesTable: one partition of a packet's fates."""
    return {"pk": f"{SHARES_PREFIX}{packet_id}#{partition}"}


def share_partitions(packet_id: str, part: int) -> range:
    """SharesTable: the partitions that hold the fates of a part."""
    return range(part, fate_partitions(packet_id), part_count(packet_id))


SHARES_PREFIX = "shares#"
SHARE_PREFIX = "share#"


def taker(packet_id: str, user_id: str) -> dict[str, str]:
    """SharesTable: the one share of a packet that a user may have."""
    return {"pk": f"{USER_PREFIX}{user_id}", "sk": f"{TAKER_PREFIX}{packet_id}"}


def prize_taker(packet_id: str, user_id: str, share_no: int) -> dict[str, str]:
    """SharesTable: one of the shares of a prize's packet that a user has won."""
    key = taker(packet_id, user_id)
    return {**key, "sk": f"{key['sk']}#{share_no}"}


USER_PREFIX = "user#"
TAKER_PREFIX = "claim#"


def claim_count(campaign_id: str, user_id: str) -> dict[str, str]:
    """QuotasTable: how many shares of a campaign a user owns; no id of a campaign holds a "#"."""
    return {"pk": f"{campaign_id}#{user_id}"}


def request(user_id: str, route: str, key_hash: str) -> dict[str, str]:
    """PacketsTable and AccountsTable: an idempotent request, for ever: no TTL reopens it."""
    return {"pk": f"user#{user_id}", "sk": f"request#{route}#{key_hash}"}


def account(name: str) -> dict[str, str]:
    """AccountsTable: an account's balance."""
    return {"pk": name, "sk": BALANCE}


BALANCE = "balance"
ENTRY_PREFIX = "entry#"
CLAIM_PREFIX = "claim#"


def entry(name: str, position_ms: int, transfer_id: str) -> dict[str, str]:
    """AccountsTable: one side of a transfer in an account's book, in the order of time."""
    return {"pk": name, "sk": f"{ENTRY_PREFIX}{position_ms:013d}#{transfer_id}"}


def claim_entry(name: str, position_ms: int, packet_id: str, share_no: int) -> dict[str, str]:
    """AccountsTable: the entry of a settled claim; apart, so that they are a list of their own."""
    return {"pk": name, "sk": f"{CLAIM_PREFIX}{position_ms:013d}#{packet_id}#{share_no}"}


def receipt(packet_id: str, share_no: int) -> dict[str, str]:
    """AccountsTable: that a share's money left its packet; in a partition of its own."""
    return {"pk": f"{RECEIPT_PREFIX}{packet_id}#{share_no}", "sk": RECEIPT}


RECEIPT_PREFIX = "paid#"
RECEIPT = "receipt"


def work(kind: str, shard: int) -> str:
    """PacketsTable and SharesTable, index by_work: one partition of a work list."""
    return f"{kind}#{shard}"


def work_shard(subject: str) -> int:
    """Spread a work list's rows evenly; any stable hash will do."""
    return crc32(subject.encode()) % WORK_SHARDS


def sent_list(user_id: str) -> str:
    """PacketsTable, index by_list: what a user sent."""
    return f"sent#{user_id}"


def list_position(at_ms: int, packet_id: str) -> str:
    """PacketsTable, index by_list: where a packet stands in a list, by time."""
    return f"{at_ms:013d}#{packet_id}"


def work_shards(group: int, groups: int) -> Sequence[int]:
    """Return the shards of work that the *group*-th, from 0, of *groups* sweeps takes."""
    return range(group, WORK_SHARDS, groups)
