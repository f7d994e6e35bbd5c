"""Amounts as operators read and type them."""

from collections.abc import Callable

import typer

from redpacket.platform.amounts import plain_of, typed_fen
from redpacket.platform.unit import Unit
from redpacket_cli.words import translate

_chosen: dict[str, Callable[[], Unit]] = {"unit": Unit}


def use(unit: Callable[[], Unit]) -> None:
    """Choose the unit of account, which *unit* fetches when the first amount needs it."""
    _chosen["unit"] = unit


def unit_of_account() -> Unit:
    """Return the unit of account of the chosen stack."""
    return _chosen["unit"]()


def money(fen: int | None) -> str:
    """Write an amount for people; None is hidden."""
    return translate("hidden") if fen is None else unit_of_account().text(fen)


def parse_amount(text: str) -> int:
    """Return the minor units of an amount: 88.88 has decimals, 8888 has none. Raises typer's error.

    Groups without a decimal part may mean either, unless the symbol is there or the unit has no
    decimals.
    """
    plain = plain_of(text)
    # Scripts write minor units, and need no request for the unit.
    unit = Unit() if plain.isdigit() else unit_of_account()
    fen = typed_fen(plain, unit, is_bare_minor=True)
    if fen is None:
        example = unit.digits(8888)
        raise typer.BadParameter(f"{plain} is no amount: write {example}, or 8888 in minor units")
    return fen
