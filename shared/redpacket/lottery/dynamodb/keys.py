"""Keys of DrawsTable: units of prizes, and users' draws in a campaign; and of CodesTable."""

from __future__ import annotations


def unit(campaign_id: str, prize_id: str, unit_no: int) -> dict[str, str]:
    """Return the key of a won unit of a prize (I9); seven digits keep the order."""
    return {**units(campaign_id, prize_id), "sk": f"{UNIT_PREFIX}{unit_no:07d}"}


def day_unit(campaign_id: str, prize_id: str, day: str, day_no: int) -> dict[str, str]:
    """Return the key of a won unit of a prize's stock for one day (I9)."""
    return {**units(campaign_id, prize_id), "sk": f"{day_units(day)}{day_no:07d}"}


def units(campaign_id: str, prize_id: str) -> dict[str, str]:
    """Return the partition of a prize's units."""
    return {"pk": f"{UNITS_PREFIX}{campaign_id}#{prize_id}"}


def day_units(day: str) -> str:
    """Return the sort key prefix of one day's units."""
    return f"day#{day}#"


def stock(campaign_id: str, prize_id: str, day: str) -> dict[str, str]:
    """Return the key of the counting position, for one day or, with "", for the whole stock."""
    return {"pk": f"{STOCK_PREFIX}{campaign_id}#{prize_id}", "sk": f"day#{day}" if day else "all"}


UNITS_PREFIX = "units#"
STOCK_PREFIX = "stock#"
UNIT_PREFIX = "unit#"


def draw(campaign_id: str, user_id: str, draw_id: str) -> dict[str, str]:
    """Return the key of a draw; its id contains the user's day and number."""
    return {**drawer(campaign_id, user_id), "sk": f"{DRAW_PREFIX}{draw_id}"}


def draw_request(campaign_id: str, user_id: str, key_hash: str) -> dict[str, str]:
    """Return the key that maps an idempotency key to its draw, permanently."""
    return {**drawer(campaign_id, user_id), "sk": f"{DRAW_REQUEST_PREFIX}{key_hash}"}


def player(campaign_id: str, user_id: str, day: str) -> dict[str, str]:
    """Return the key of a user's counters for one day."""
    return {**drawer(campaign_id, user_id), "sk": f"{PLAYER_PREFIX}{day}"}


def winner(campaign_id: str, user_id: str, prize_id: str) -> dict[str, str]:
    """Return the key of a user's win of a once-per-user prize."""
    return {**drawer(campaign_id, user_id), "sk": f"{WINNER_PREFIX}{prize_id}"}


def help_given(campaign_id: str, inviter_id: str, helper_id: str) -> dict[str, str]:
    """Return the key of a friend's help, which counts once per campaign."""
    return {**drawer(campaign_id, inviter_id), "sk": f"{HELP_PREFIX}{helper_id}"}


def drawer(campaign_id: str, user_id: str) -> dict[str, str]:
    """Return the partition of a user in a campaign."""
    return {"pk": f"{DRAWER_PREFIX}{campaign_id}#{user_id}"}


def code(campaign_id: str, prize_id: str, unit_no: int) -> dict[str, str]:
    """Return the key of the code that the winner of a unit gets."""
    return {**_codes(campaign_id, prize_id), "sk": f"code#{unit_no:07d}"}


def code_digest(campaign_id: str, prize_id: str, digest: str) -> dict[str, str]:
    """Return the key that a code can take only once within a prize."""
    return {**_codes(campaign_id, prize_id), "sk": f"digest#{digest}"}


def code_count(campaign_id: str, prize_id: str) -> dict[str, str]:
    """Return the key of a prize's number of codes, in a partition that holds no code."""
    return {"pk": f"count#{campaign_id}#{prize_id}", "sk": "codes"}


def _codes(campaign_id: str, prize_id: str) -> dict[str, str]:
    return {"pk": f"codes#{campaign_id}#{prize_id}"}


DRAWER_PREFIX = "user#"
DRAW_PREFIX = "draw#"
DRAW_REQUEST_PREFIX = "key#"
PLAYER_PREFIX = "day#"
WINNER_PREFIX = "won#"
HELP_PREFIX = "help#"
