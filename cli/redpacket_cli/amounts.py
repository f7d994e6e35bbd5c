"""Amounts that operators type, by the same grammar as the page: tests/vectors/amounts.json."""

import re

import typer

from redpacket.platform.bounds import FEN_MAX

_SEPARATORS = str.maketrans("\uff0c\uff0e\u3002\uff61\u066b\u2019\u066c\xa0\u202f", ",....''  ")
"""Separators of other keyboards, and the ones that the grammar has for them."""

_DIGITS = re.compile("[\uff10-\uff19\u0660-\u0669\u06f0-\u06f9]")
_SIGN = re.compile("^[\xa5\uffe5] ?| ?\u5143$")
_PLAIN = re.compile(r"(\d+)()(?:[.,](\d\d?))?", re.ASCII)
_GROUPED = re.compile(
    r"(?!\d+\.\d+$)([1-9]\d{0,2}([,. '])\d{3}(?:\2\d{3})*)(?:(?!\2)[.,](\d\d?))?", re.ASCII
)
"""Groups of three by one separator. A single group after a point may also be a fraction."""


def parse_amount(text: str) -> int:
    """Return the fen of an amount: 88.88 is yuan, 8888 is fen. Raises typer's error for others.

    Groups without a decimal part may mean either unit, unless the sign of yuan is there.
    """
    plain = _DIGITS.sub(lambda found: str(int(found[0])), text).translate(_SEPARATORS).strip()
    number = _SIGN.sub("", plain)
    found = _PLAIN.fullmatch(number) or _GROUPED.fullmatch(number)
    fen = 0
    if found and (found[3] or number != plain):
        fen = int(re.sub(r"\D", "", found[1]) + (found[3] or "").ljust(2, "0"))
    elif found and not found[2]:
        fen = int(found[1])
    if not 0 < fen <= FEN_MAX:
        raise typer.BadParameter(f"{plain} is no amount: write fen (8888) or yuan (88.88)")
    return fen
