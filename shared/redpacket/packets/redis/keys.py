"""Cache keys for packets (docs/adr/0002)."""

from __future__ import annotations

from redpacket.packets.model.packet_id import RANDOM_LENGTH, TAGGED_LENGTH


def claim_cache(packet_id: str) -> str:
    """Return the key of a packet's hash; the braces keep all keys of the packet in one slot.

    Increment the 4 with each change of the hash's layout (lua/lib/state.lua), so that older hashes
    are ignored and packets are loaded again. To save memory, the key omits the id's key version and
    tag.
    """
    return f"rp:4{{{packet_id[:RANDOM_LENGTH]}{packet_id[TAGGED_LENGTH:]}}}"


def admitted(packet_id: str) -> str:
    """Return the key of the users admitted to a two-step packet, sorted by the admission's end."""
    return f"{claim_cache(packet_id)}:admitted"


def loading(packet_id: str, shard: int) -> str:
    """Return the key of the lock for loading a shard of a packet."""
    return f"{claim_cache(packet_id)}:loading:{shard}"


def looking(packet_id: str) -> str:
    """Return the key of the lock for reading an emptied packet's claimers from the ledger."""
    return f"{claim_cache(packet_id)}:looking"
