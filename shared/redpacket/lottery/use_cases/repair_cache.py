"""Repair of the draw cache from the ledger, which wins if the two disagree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redpacket.lottery.use_cases.load_campaign import load_campaign
from redpacket.platform.errors import Unavailable

if TYPE_CHECKING:
    from redpacket.lottery.model.lottery import DrawRequest, Player
    from redpacket.lottery.use_cases.draw_ports import DrawPorts

_LOAD_LIFE_MS = 2_000
"""Milliseconds until another caller may load."""


def load_alone(campaign_id: str, ports: DrawPorts) -> None:
    """Load a lost campaign. Raises Unavailable while another caller loads it."""
    if not ports.claim_cache.begin_load(campaign_id, _LOAD_LIFE_MS):
        raise Unavailable("The campaign is being loaded. Try again.")
    ports.logger.event("campaign_loaded", campaign_id=campaign_id)
    load_campaign(campaign_id, draws=ports.draws, claim_cache=ports.claim_cache, clock=ports.clock)


def undo(ask: DrawRequest, ports: DrawPorts, *, is_unit_free: bool) -> None:
    """Undo an attempt that did not become durable; a free unit is offered again."""
    ports.claim_cache.undo(ask, is_unit_free=is_unit_free)
    correct_player(ask, ports)


def correct_player(ask: DrawRequest, ports: DrawPorts) -> Player:
    """Set the cache's counts of the user to the ledger's."""
    player = ports.draws.find_player(ask.campaign_id, ask.user_id, ask.day.name)
    ports.claim_cache.set_player(ask, player)
    return player
