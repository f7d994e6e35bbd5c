"""Amounts as operators read and type them, by the page's grammar: tests/vectors/amounts.json."""

import re
from collections.abc import Callable

import typer

from redpacket.platform.bounds import FEN_MAX
from redpacket.platform.unit import Unit
from redpacket_cli.words import translate

_SEPARATORS = str.maketrans("\uff0c\uff0e\u3002\uff61\u066b\u2019\u066c\xa0\u202f", ",....''  ")
"""Separators of other keyboards, and the ones that the grammar has for them."""

_DIGITS = re.compile("[\uff10-\uff19\u0660-\u0669\u06f0-\u06f9]")
_YUAN = ("\xa5", "\uffe5", "\u5143")
_PLAIN = re.compile(r"(\d+)()(?:[.,](\d\d?))?", re.ASCII)
_GROUPED = re.compile(
    r"(?!\d+\.\d+$)([1-9]\d{0,2}([,. '])\d{3}(?:\2\d{3})*)(?:(?!\2)[.,](\d\d?))?", re.ASCII
)
"""Groups of three by one separator. A single group after a point may also be a fraction."""

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
    plain = _DIGITS.sub(lambda found: str(int(found[0])), text).translate(_SEPARATORS).strip()
    # Scripts write minor units, and need no request for the unit.
    unit = Unit() if plain.isdigit() else unit_of_account()
    number = _without_symbol(plain, unit)
    found = _PLAIN.fullmatch(number) or _GROUPED.fullmatch(number)
    fen = 0
    if found and len(found[3] or "") <= unit.decimals:
        is_minor = not found[3] and number == plain
        if not (is_minor and found[2] and unit.decimals):
            minor = (found[3] or "").ljust(0 if is_minor else unit.decimals, "0")
            fen = int(re.sub(r"\D", "", found[1]) + minor)
    if not 0 < fen <= FEN_MAX:
        example = unit.digits(8888)
        raise typer.BadParameter(f"{plain} is no amount: write {example}, or 8888 in minor units")
    return fen


def _without_symbol(text: str, unit: Unit) -> str:
    for symbol in _YUAN if unit.name == "CNY" else (unit.symbol,):
        if symbol[-1].isalpha():
            bare = text.removesuffix(symbol).removesuffix(" ")
        else:
            bare = text.removeprefix(symbol).removeprefix(" ")
        if bare != text:
            return bare
    return text
