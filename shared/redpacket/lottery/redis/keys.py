"""Cache keys for lotteries."""

from __future__ import annotations


def draw_cache(campaign_id: str) -> str:
    """Return the key of a lottery's hash; all keys of a lottery share its slot."""
    return f"rp:{{draw:{campaign_id}}}"


def draw_day(campaign_id: str, day: str) -> str:
    """Return the key of a lottery's draws and players for one day."""
    return f"{draw_cache(campaign_id)}:{day}"


def draw_winners(campaign_id: str) -> str:
    """Return the key of the winners of once-per-user prizes."""
    return f"{draw_cache(campaign_id)}:winners"


def draw_loading(campaign_id: str) -> str:
    """Return the key of the lock for loading a lottery."""
    return f"{draw_cache(campaign_id)}:loading"
