"""Every key of the cache, by the thing that it names (docs/adr/0002)."""

from __future__ import annotations

from redpacket.domain.campaign import audience_bucket
from redpacket.domain.packet_id import RANDOM_LENGTH, TAGGED_LENGTH


def claim_cache(packet_id: str) -> str:
    """Redis: the packet's one hash; the braces keep all keys of a packet in one slot.

    The 2 is of the hash's layout (lua/lib/state.lua): what another version loaded is not read, and
    the ledger brings the packet again. Raise it with each change of the layout. The random part
    of the id names the packet; its key version and tag would only take memory.
    """
    return f"rp:2{{{packet_id[:RANDOM_LENGTH]}{packet_id[TAGGED_LENGTH:]}}}"


def admitted(packet_id: str) -> str:
    """Redis: who may open a packet of two steps at this moment, by the end of their admission."""
    return f"{claim_cache(packet_id)}:admitted"


def loading(packet_id: str, part: int) -> str:
    """Redis: that somebody loads a part of a packet at this moment."""
    return f"{claim_cache(packet_id)}:loading:{part}"


def looking(packet_id: str, part: int) -> str:
    """Redis: that the ledger was asked a moment ago who took what of an emptied packet."""
    return f"{claim_cache(packet_id)}:looking:{part}"


def audience(campaign_id: str, bucket: int) -> str:
    """Redis: one part of a campaign's list of users, and "#" if it is whole (lua/lib/audience.lua).

    In the slot of the quotas of its users, so that one script asks both.
    """
    return f"rp:{{audience:{campaign_id}:{bucket}}}"


def audience_loading(campaign_id: str, bucket: int) -> str:
    """Redis: who loads a part of a campaign's list at this moment."""
    return f"{audience(campaign_id, bucket)}:loading"


def quota(campaign_id: str, user_id: str) -> str:
    """Redis: the packets of a campaign that a user takes from."""
    return f"{audience(campaign_id, audience_bucket(user_id))}:{user_id}"


def limit(name: str, subject: str) -> str:
    """Redis: what a subject has done of a limited thing lately, in a slot of its own."""
    return f"rp:limit:{{{name}:{subject}}}"


def limit_within(name: str, group: str, subject: str) -> str:
    """Redis: the same of a member of a group, in the slot of the group's own `limit`."""
    return f"{limit(name, group)}:{subject}"


def asked_verdict(user_id: str) -> str:
    """Redis: what the host's risk control said of a user, for an hour."""
    return f"rp:{{risk:{user_id}}}"


def draw_cache(campaign_id: str) -> str:
    """Redis: a lottery's one hash; all keys of a lottery are in one slot."""
    return f"rp:{{draw:{campaign_id}}}"


def draw_day(campaign_id: str, day: str) -> str:
    """Redis: what was drawn in a lottery on one day, and by whom."""
    return f"{draw_cache(campaign_id)}:{day}"


def draw_winners(campaign_id: str) -> str:
    """Redis: the winners of once-only prizes."""
    return f"{draw_cache(campaign_id)}:winners"


def draw_loading(campaign_id: str) -> str:
    """Redis: that somebody loads a lottery at this moment."""
    return f"{draw_cache(campaign_id)}:loading"


SWITCH_COPY = "rp:switches"
"""Redis: which switches are off, as somebody read it within the last seconds."""
