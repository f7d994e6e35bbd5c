"""Amounts as operators read and type them."""

from collections.abc import Callable

import typer

from redpacket.platform.amounts import plain_of, typed_fen
from redpacket.platform.unit import Unit
from redpacket_cli.words import translate

_chosen: dict[str, Callable[[], Unit]] = {"unit": Unit}


def use(unit: Callable[[], Unit]) -> None:
    """Set the function that fetches the unit of account when an amount first needs it."""
    _chosen["unit"] = unit


def unit_of_account() -> Unit:
    """Return the unit of account of the chosen stack."""
    return _chosen["unit"]()


def money(fen: int | None) -> str:
    """Format an amount for display. None becomes "hidden"."""
    return translate("hidden") if fen is None else unit_of_account().text(fen)


def parse_amount(text: str) -> int:
    """Parse an amount into minor units: 88.88 is in major units, and 8888 in minor units.

    A grouped amount like 1,000 needs a symbol or decimals, unless the unit has no decimals. Raises
    typer.BadParameter if *text* is not an amount.
    """
    plain = plain_of(text)
    # Don't request the unit for digits: scripts pass minor units.
    unit = Unit() if plain.isdigit() else unit_of_account()
    fen = typed_fen(plain, unit, is_bare_minor=True)
    if fen is None:
        detail = f"{plain} is not an amount: write {unit.digits(8888)}, or 8888 in minor units"
        raise typer.BadParameter(detail)
    return fen
