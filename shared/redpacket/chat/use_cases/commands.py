"""Parser for the commands that members write."""

from __future__ import annotations

import re
from typing import Any

from redpacket.platform.amounts import plain_of, typed_fen
from redpacket.platform.unit import Unit

SEND, BALANCE, HELP = "send", "balance", "help"

_NAMES = {
    "/hongbao": SEND,
    "/packet": SEND,
    "/balance": BALANCE,
    "/help": HELP,
    "/start": HELP,
}
_PASSPHRASE = re.compile(r"(?:口令|passphrase)[=＝](.*)", re.IGNORECASE)
_LINK = "+link"


def command_of(text: str) -> str | None:
    """Return the command at the start of *text*, or None."""
    return _NAMES.get((text.split() or [""])[0].lower())


def packet_fields(text: str, unit: Unit) -> tuple[dict[str, Any], bool] | None:
    """Return the fields of `POST /packets` for a command, and whether the command has `+link`.

    Return None if the amount or share count is missing or malformed, or if `passphrase=` has no
    word or occurs twice.
    """
    written = text.split()[1:]
    is_linked = _LINK in written
    rest = [word for word in written if word != _LINK]
    amount, count = (*rest, "", "")[:2]
    total_fen, count = typed_fen(amount, unit), plain_of(count)
    if total_fen is None or not re.fullmatch(r"[0-9]{1,9}", count):
        return None
    fields: dict[str, Any] = {"kind": "lucky", "total_fen": total_fen, "count": int(count)}
    rest = rest[2:]
    phrases = [*filter(None, map(_PASSPHRASE.fullmatch, rest))]
    if phrases:
        if len(phrases) > 1 or not phrases[0][1]:
            # As a greeting, the word would be public and protect nothing.
            return None
        fields["passphrase"] = phrases[0][1]
        rest.remove(phrases[0][0])
    if rest:
        fields["greeting"] = " ".join(rest)
    return fields, is_linked
