"""Keys of DrawsTable: the units of prizes, and what users did in a campaign."""

from __future__ import annotations


def unit(campaign_id: str, prize_id: str, unit_no: int) -> dict[str, str]:
    """DrawsTable: that a unit of a prize is won (I9); seven digits keep them in order."""
    return {**units(campaign_id, prize_id), "sk": f"{UNIT_PREFIX}{unit_no:07d}"}


def day_unit(campaign_id: str, prize_id: str, day: str, day_no: int) -> dict[str, str]:
    """DrawsTable: that a unit of a prize's stock of one day is won (I9)."""
    return {**units(campaign_id, prize_id), "sk": f"{day_units(day)}{day_no:07d}"}


def units(campaign_id: str, prize_id: str) -> dict[str, str]:
    """DrawsTable: the partition of a prize's units."""
    return {"pk": f"{UNITS_PREFIX}{campaign_id}#{prize_id}"}


def day_units(day: str) -> str:
    """DrawsTable: how the sort keys of one day's units begin."""
    return f"day#{day}#"


def stock(campaign_id: str, prize_id: str, day: str) -> dict[str, str]:
    """DrawsTable: up to which unit of a prize all are won, of one day's stock or, with "", ever."""
    return {"pk": f"stock#{campaign_id}#{prize_id}", "sk": f"day#{day}" if day else "all"}


UNITS_PREFIX = "units#"
UNIT_PREFIX = "unit#"


def draw(campaign_id: str, user_id: str, draw_id: str) -> dict[str, str]:
    """DrawsTable: a draw, hit or miss; its id names the user's day and number."""
    return {**drawer(campaign_id, user_id), "sk": f"{DRAW_PREFIX}{draw_id}"}


def draw_request(campaign_id: str, user_id: str, key_hash: str) -> dict[str, str]:
    """DrawsTable: which draw an idempotency key names, for ever."""
    return {**drawer(campaign_id, user_id), "sk": f"{DRAW_REQUEST_PREFIX}{key_hash}"}


def player(campaign_id: str, user_id: str, day: str) -> dict[str, str]:
    """DrawsTable: what a user did on one day."""
    return {**drawer(campaign_id, user_id), "sk": f"{PLAYER_PREFIX}{day}"}


def winner(campaign_id: str, user_id: str, prize_id: str) -> dict[str, str]:
    """DrawsTable: a user's win of a once-only prize."""
    return {**drawer(campaign_id, user_id), "sk": f"{WINNER_PREFIX}{prize_id}"}


def help_given(campaign_id: str, inviter_id: str, helper_id: str) -> dict[str, str]:
    """DrawsTable: that a friend has helped a user, once for ever."""
    return {**drawer(campaign_id, inviter_id), "sk": f"{HELP_PREFIX}{helper_id}"}


def drawer(campaign_id: str, user_id: str) -> dict[str, str]:
    """DrawsTable: the partition of what a user did in a campaign."""
    return {"pk": f"{DRAWER_PREFIX}{campaign_id}#{user_id}"}


DRAWER_PREFIX = "user#"
DRAW_PREFIX = "draw#"
DRAW_REQUEST_PREFIX = "key#"
PLAYER_PREFIX = "day#"
WINNER_PREFIX = "won#"
HELP_PREFIX = "help#"
