"""Cache keys (docs/adr/0002)."""

from __future__ import annotations

from redpacket.campaigns.model import audience_bucket
from redpacket.packets.model.packet_id import RANDOM_LENGTH, TAGGED_LENGTH


def claim_cache(packet_id: str) -> str:
    """Return the key of a packet's hash; the braces keep all its keys in one slot.

    Raise the 3 with each change of the hash's layout (lua/lib/state.lua): older hashes are then
    ignored, and packets are loaded again. Key version and tag of the id are left out to save
    memory.
    """
    return f"rp:3{{{packet_id[:RANDOM_LENGTH]}{packet_id[TAGGED_LENGTH:]}}}"


def admitted(packet_id: str) -> str:
    """Return the key of users admitted to a two-step packet, by the end of their admission."""
    return f"{claim_cache(packet_id)}:admitted"


def loading(packet_id: str, part: int) -> str:
    """Return the key of the turn to load a shard of a packet."""
    return f"{claim_cache(packet_id)}:loading:{part}"


def looking(packet_id: str, part: int) -> str:
    """Return the key of the turn to read an emptied packet's claimers from the ledger."""
    return f"{claim_cache(packet_id)}:looking:{part}"


def audience(campaign_id: str, bucket: int) -> str:
    """Return the key of a bucket of a campaign's list, in the slot of its users' quotas."""
    return f"rp:{{audience:{campaign_id}:{bucket}}}"


def audience_loading(campaign_id: str, bucket: int) -> str:
    """Return the key of the turn to load a bucket of a campaign's list."""
    return f"{audience(campaign_id, bucket)}:loading"


def quota(campaign_id: str, user_id: str) -> str:
    """Return the key of the packets of a campaign from which a user has reserved a share."""
    return f"{audience(campaign_id, audience_bucket(user_id))}:{user_id}"


def limit(name: str, subject: str) -> str:
    """Return the key of a rate limit for one subject, in its own slot."""
    return f"rp:limit:{{{name}:{subject}}}"


def limit_within(name: str, group: str, subject: str) -> str:
    """Return the key of a rate limit for a group member, in the slot of the group's `limit`."""
    return f"{limit(name, group)}:{subject}"


def asked_verdict(user_id: str) -> str:
    """Return the key of the host's cached risk decision on a user."""
    return f"rp:{{risk:{user_id}}}"


def draw_cache(campaign_id: str) -> str:
    """Return the key of a lottery's hash; all keys of a lottery share its slot."""
    return f"rp:{{draw:{campaign_id}}}"


def draw_day(campaign_id: str, day: str) -> str:
    """Return the key of a lottery's draws and players on one day."""
    return f"{draw_cache(campaign_id)}:{day}"


def draw_winners(campaign_id: str) -> str:
    """Return the key of the winners of once-per-user prizes."""
    return f"{draw_cache(campaign_id)}:winners"


def draw_loading(campaign_id: str) -> str:
    """Return the key of the turn to load a lottery."""
    return f"{draw_cache(campaign_id)}:loading"


SWITCH_COPY = "rp:switches"
"""Key of the shared copy of the switches, which lives for seconds."""
