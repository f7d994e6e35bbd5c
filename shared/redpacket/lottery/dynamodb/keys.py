"""Keys in DrawsTable, for prize units and users' draws, and in CodesTable."""

from __future__ import annotations


def unit(campaign_id: str, prize_id: str, unit_no: int) -> dict[str, str]:
    """Return the key of a won prize unit (I9); the padded numbers sort as text."""
    return {**units(campaign_id, prize_id), "sk": f"{UNIT_PREFIX}{unit_no:07d}"}


def day_unit(campaign_id: str, prize_id: str, day: str, day_no: int) -> dict[str, str]:
    """Return the key of a won unit in a prize's daily stock (I9)."""
    return {**units(campaign_id, prize_id), "sk": f"{day_units(day)}{day_no:07d}"}


def units(campaign_id: str, prize_id: str) -> dict[str, str]:
    """Return the partition key of a prize's units."""
    return {"pk": f"{UNITS_PREFIX}{campaign_id}#{prize_id}"}


def day_units(day: str) -> str:
    """Return the sort key prefix of one day's units."""
    return f"day#{day}#"


def stock(campaign_id: str, prize_id: str, day: str) -> dict[str, str]:
    """Return the key of the stored count for one day or, if *day* is "", for the whole stock."""
    return {"pk": f"{STOCK_PREFIX}{campaign_id}#{prize_id}", "sk": f"day#{day}" if day else "all"}


UNITS_PREFIX = "units#"
STOCK_PREFIX = "stock#"
UNIT_PREFIX = "unit#"


def draw(campaign_id: str, user_id: str, draw_id: str) -> dict[str, str]:
    """Return the key of a draw, whose id is a hash that covers the day and the draw number."""
    return {**drawer(campaign_id, user_id), "sk": f"{DRAW_PREFIX}{draw_id}"}


def draw_request(campaign_id: str, user_id: str, key_hash: str) -> dict[str, str]:
    """Return the key of the permanent row that maps an idempotency key to its draw."""
    return {**drawer(campaign_id, user_id), "sk": f"{DRAW_REQUEST_PREFIX}{key_hash}"}


def player(campaign_id: str, user_id: str, day: str) -> dict[str, str]:
    """Return the key of a user's counters for one day."""
    return {**drawer(campaign_id, user_id), "sk": f"{PLAYER_PREFIX}{day}"}


def winner(campaign_id: str, user_id: str, prize_id: str) -> dict[str, str]:
    """Return the key of the row that records a user's win of a once-per-user prize."""
    return {**drawer(campaign_id, user_id), "sk": f"{WINNER_PREFIX}{prize_id}"}


def help_given(campaign_id: str, inviter_id: str, helper_id: str) -> dict[str, str]:
    """Return the key of a friend's help, which counts once per inviter in a campaign."""
    return {**drawer(campaign_id, inviter_id), "sk": f"{HELP_PREFIX}{helper_id}"}


def drawer(campaign_id: str, user_id: str) -> dict[str, str]:
    """Return the partition key of a user's rows in a campaign."""
    return {"pk": f"{DRAWER_PREFIX}{campaign_id}#{user_id}"}


def code(campaign_id: str, prize_id: str, unit_no: int) -> dict[str, str]:
    """Return the key of the code that the winner of a unit gets."""
    return {**_codes(campaign_id, prize_id), "sk": f"code#{unit_no:07d}"}


def code_digest(campaign_id: str, prize_id: str, digest: str) -> dict[str, str]:
    """Return the key of a code's digest, which exists at most once per prize."""
    return {**_codes(campaign_id, prize_id), "sk": f"digest#{digest}"}


def code_count(campaign_id: str, prize_id: str) -> dict[str, str]:
    """Return the key of a prize's code count, which is outside the codes' partition."""
    return {"pk": f"count#{campaign_id}#{prize_id}", "sk": "codes"}


def _codes(campaign_id: str, prize_id: str) -> dict[str, str]:
    return {"pk": f"codes#{campaign_id}#{prize_id}"}


DRAWER_PREFIX = "user#"
DRAW_PREFIX = "draw#"
DRAW_REQUEST_PREFIX = "key#"
PLAYER_PREFIX = "day#"
WINNER_PREFIX = "won#"
HELP_PREFIX = "help#"
