"""Every key of Redis and of DynamoDB, by the thing that it names (docs/adr/0002, 0003)."""

from __future__ import annotations

from zlib import crc32

WORK_SHARDS = 8
"""Partitions of each work list: one takes about 1,000 writes a second, and every claim is one."""


def board(packet_id: str) -> str:
    """Redis: the packet's one hash; the braces keep all keys of a packet in one slot."""
    return f"rp:{{{packet_id}}}"


def admitted(packet_id: str) -> str:
    """Redis: who may open a packet of two steps at this moment, by the end of their admission."""
    return f"rp:{{{packet_id}}}:admitted"


def quota(campaign_id: str, user_id: str) -> str:
    """Redis: the packets of a campaign that a user takes from; in a slot of its own."""
    return f"rp:{{quota:{campaign_id}:{user_id}}}"


def limit(name: str, subject: str) -> str:
    """Redis: what a subject has done of a limited thing lately, in a slot of its own."""
    return f"rp:limit:{{{name}:{subject}}}"


SWITCH_COPY = "rp:switches"
"""Redis: which switches are off, as somebody read it within the last seconds."""


def switches() -> dict[str, str]:
    """SwitchesTable: its one row."""
    return {"pk": "switches"}


def packet(packet_id: str) -> dict[str, str]:
    """PacketsTable: the packet row."""
    return {"pk": f"packet#{packet_id}", "sk": PACKET}


PACKET = "packet"


def share(packet_id: str, share_no: int) -> dict[str, str]:
    """PacketsTable: a share's fate; seven digits keep 1,000,000 shares in order."""
    return {"pk": f"packet#{packet_id}", "sk": f"{SHARE_PREFIX}{share_no:07d}"}


SHARE_PREFIX = "share#"


def taker(packet_id: str, user_id: str) -> dict[str, str]:
    """PacketsTable: the one share of a packet that a user may have."""
    return {"pk": f"{USER_PREFIX}{user_id}", "sk": f"{TAKER_PREFIX}{packet_id}"}


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


def entry(name: str, at_ms: int, transfer_id: str) -> dict[str, str]:
    """AccountsTable: one side of a transfer in an account's book, in the order of time."""
    return {"pk": name, "sk": f"{ENTRY_PREFIX}{at_ms:013d}#{transfer_id}"}


def campaign(campaign_id: str) -> dict[str, str]:
    """CampaignsTable: a campaign with its budget."""
    return {"pk": f"campaign#{campaign_id}", "sk": "campaign"}


def campaign_packet(campaign_id: str, packet_id: str) -> dict[str, str]:
    """CampaignsTable: that a packet is of a campaign."""
    return {"pk": f"campaign#{campaign_id}", "sk": f"{CAMPAIGN_PACKET_PREFIX}{packet_id}"}


CAMPAIGN_PACKET_PREFIX = "packet#"


def work(kind: str, shard: int) -> str:
    """PacketsTable, index by_work: one partition of a work list."""
    return f"{kind}#{shard}"


def work_shard(subject: str) -> int:
    """Spread a work list's rows evenly; any stable hash will do."""
    return crc32(subject.encode()) % WORK_SHARDS


def sent_list(user_id: str) -> str:
    """PacketsTable, index by_list: what a user sent."""
    return f"sent#{user_id}"


def received_list(user_id: str) -> str:
    """PacketsTable, index by_list: what a user took."""
    return f"received#{user_id}"


def list_position(at_ms: int, packet_id: str) -> str:
    """PacketsTable, index by_list: where a packet stands in a list, by time."""
    return f"{at_ms:013d}#{packet_id}"
