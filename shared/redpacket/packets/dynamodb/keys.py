"""DynamoDB keys for packets, shares and quotas."""

from __future__ import annotations

from redpacket.campaigns.model import RESERVED_ID
from redpacket.packets.model.packet import partition_count, shard_count


def packet(packet_id: str) -> dict[str, str]:
    """Return the PacketsTable key of a packet."""
    return {"pk": f"packet#{packet_id}", "sk": PACKET}


PACKET = "packet"


def paid_packet(number: str) -> dict[str, str]:
    """Return the PacketsTable key that maps a payment's number to its packet."""
    return {"pk": f"payment#{number}", "sk": "payment"}


def edited_window(campaign_id: str) -> dict[str, str]:
    """Return the PacketsTable key of a campaign's newest edited window."""
    return {"pk": f"{EDITED_PREFIX}{campaign_id}", "sk": "window"}


EDITED_PREFIX = "campaign#"


def shard_end(packet_id: str, shard: int) -> dict[str, str]:
    """Return the PacketsTable key of a shard's final sums."""
    return {"pk": f"packet#{packet_id}", "sk": f"{SHARD_END_PREFIX}{shard:02d}"}


SHARD_END_PREFIX = "end#"


def final_page(packet_id: str, partition: int, last_no: int) -> dict[str, str]:
    """Return the PacketsTable key of a final page of claims that ends with share *last_no*."""
    return {"pk": f"final#{packet_id}#{partition}", "sk": f"{FINAL_PREFIX}{last_no:07d}"}


FINAL_PREFIX = "page#"


def settled_sums(packet_id: str) -> dict[str, str]:
    """Return the PacketsTable key of the sums of a large packet's settled claims."""
    return {"pk": f"settled#{packet_id}", "sk": "sums"}


def thanks(packet_id: str, share_no: int) -> dict[str, str]:
    """Return the QuotasTable key of the thanks for a block of shares.

    A record page shows consecutive shares from a few consecutive partitions. A block costs two read
    units if every claimer sends thanks, so a page rarely costs more than two.
    """
    place, partition = divmod(share_no - 1, partition_count(packet_id))
    block = f"{partition // THANKS_PARTITIONS}#{place // THANKS_PLACES}"
    return {"pk": f"{THANKS_PREFIX}{packet_id}#{block}"}


def thanks_text(packet_id: str, share_no: int) -> dict[str, str]:
    """Return the QuotasTable key of the thanks texts for 100 shares, at most 10 KB."""
    place, partition = divmod(share_no - 1, partition_count(packet_id))
    return {"pk": f"{THANKS_PREFIX}{packet_id}#text#{partition}#{place // THANKS_PLACES}"}


THANKS_PREFIX = f"{RESERVED_ID}#"

THANKS_PARTITIONS, THANKS_PLACES = 8, 100


def share(packet_id: str, share_no: int) -> dict[str, str]:
    """Return the SharesTable key of a share; seven digits sort 1,000,000 shares by number."""
    partition = (share_no - 1) % partition_count(packet_id)
    return {**shares(packet_id, partition), "sk": f"{SHARE_PREFIX}{share_no:07d}"}


def shares(packet_id: str, partition: int) -> dict[str, str]:
    """Return the SharesTable key of one partition of a packet's shares."""
    return {"pk": f"{SHARES_PREFIX}{packet_id}#{partition}"}


def share_partitions(packet_id: str, shard: int) -> range:
    """Return the numbers of the partitions that contain one shard's shares."""
    return range(shard, partition_count(packet_id), shard_count(packet_id))


SHARES_PREFIX = "shares#"

SHARE_PREFIX = "share#"


def claimer(packet_id: str, user_id: str) -> dict[str, str]:
    """Return the SharesTable key of the row for a user's only share of a packet."""
    return {"pk": f"{USER_PREFIX}{user_id}", "sk": f"{CLAIMER_PREFIX}{packet_id}"}


def prize_claimer(packet_id: str, user_id: str, share_no: int) -> dict[str, str]:
    """Return the SharesTable key of the row for one of a user's shares of a prize packet."""
    key = claimer(packet_id, user_id)
    return {**key, "sk": f"{key['sk']}#{share_no}"}


USER_PREFIX = "user#"

CLAIMER_PREFIX = "claim#"


def claim_count(campaign_id: str, user_id: str) -> dict[str, str]:
    """Return the QuotasTable key of a user's claim count; campaign ids contain no "#"."""
    return {"pk": f"{campaign_id}#{user_id}"}


def sent_list(user_id: str) -> str:
    """Return the partition of a user's sent packets in PacketsTable's index by_list."""
    return f"sent#{user_id}"


def unpaid_list(user_id: str) -> str:
    """Return the partition of a user's unpaid packets in PacketsTable's index by_list."""
    return f"unpaid#{user_id}"
