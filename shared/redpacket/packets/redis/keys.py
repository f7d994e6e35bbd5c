"""Cache keys of packets (docs/adr/0002)."""

from __future__ import annotations

from redpacket.packets.model.packet_id import RANDOM_LENGTH, TAGGED_LENGTH


def claim_cache(packet_id: str) -> str:
    """Return the key of a packet's hash; the braces keep all its keys in one slot.

    Raise the 4 with each change of the hash's layout (lua/lib/state.lua): older hashes are then
    ignored, and packets are loaded again. Key version and tag of the id are left out to save
    memory.
    """
    return f"rp:4{{{packet_id[:RANDOM_LENGTH]}{packet_id[TAGGED_LENGTH:]}}}"


def admitted(packet_id: str) -> str:
    """Return the key of users admitted to a two-step packet, by the end of their admission."""
    return f"{claim_cache(packet_id)}:admitted"


def loading(packet_id: str, shard: int) -> str:
    """Return the key of the lock to load a shard of a packet."""
    return f"{claim_cache(packet_id)}:loading:{shard}"


def looking(packet_id: str) -> str:
    """Return the key of the lock to read an emptied packet's claimers from the ledger."""
    return f"{claim_cache(packet_id)}:looking"
