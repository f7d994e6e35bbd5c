"""Parser for amounts that people type; the page has the same rules (tests/vectors/amounts.json)."""

from __future__ import annotations

import re

from redpacket.platform.bounds import FEN_MAX
from redpacket.platform.unit import Unit

_SEPARATORS = str.maketrans("\uff0c\uff0e\u3002\uff61\u066b\u2019\u066c\xa0\u202f", ",....''  ")
"""Separators of other keyboard layouts, and their equivalents in the grammar."""

_DIGITS = re.compile("[\uff10-\uff19\u0660-\u0669\u06f0-\u06f9]")
_YUAN = ("\xa5", "\uffe5", "\u5143")
_PLAIN = re.compile(r"(\d+)()(?:[.,](\d\d?))?", re.ASCII)
_GROUPED = re.compile(
    r"(?!\d+\.\d+$)([1-9]\d{0,2}([,. '])\d{3}(?:\2\d{3})*)(?:(?!\2)[.,](\d\d?))?", re.ASCII
)
"""Number with one kind of thousands separator. "1.234" does not match: it may be a fraction."""


def plain_of(text: str) -> str:
    """Return *text* with the grammar's digits and separators."""
    return _DIGITS.sub(lambda digit: str(int(digit[0])), text).translate(_SEPARATORS).strip()


def typed_fen(text: str, unit: Unit, *, is_bare_minor: bool = False) -> int | None:
    """Return the minor units of a typed amount, or None if it is malformed or out of range.

    If *is_bare_minor*, a number without a symbol or decimals counts minor units. If such a number
    has grouped digits, it is ambiguous, and the result is None unless the unit has no decimals.
    """
    plain = plain_of(text)
    number = _without_symbol(plain, unit)
    match = _PLAIN.fullmatch(number) or _GROUPED.fullmatch(number)
    if not match or len(match[3] or "") > unit.decimals:
        return None
    is_minor = is_bare_minor and not match[3] and number == plain
    if is_minor and match[2] and unit.decimals:
        return None
    minor = (match[3] or "").ljust(0 if is_minor else unit.decimals, "0")
    digits = (re.sub(r"\D", "", match[1]) + minor).lstrip("0")
    # int() rejects numbers with thousands of digits.
    fen = int(digits) if 0 < len(digits) <= len(str(FEN_MAX)) else 0
    return fen if 0 < fen <= FEN_MAX else None


def _without_symbol(text: str, unit: Unit) -> str:
    for symbol in _YUAN if unit.name == "CNY" else (unit.symbol,):
        if symbol[-1].isalpha():
            bare = text.removesuffix(symbol).removesuffix(" ")
        else:
            bare = text.removeprefix(symbol).removeprefix(" ")
        if bare != text:
            return bare
    return text
