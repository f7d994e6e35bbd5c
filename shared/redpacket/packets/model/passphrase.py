"""Compares a passphrase (口令) with what a user typed or what speech recognition returned."""

from __future__ import annotations

import hmac
import unicodedata
from collections.abc import Callable

THRESHOLD_DEFAULT = 80
"""One sound of 恭喜发财 may be heard wrong; another phrase of four characters does not pass."""

_TOLERANT_WEIGHT_MIN = 8
"""Four syllables, or eight letters: what is shorter must be said to the letter."""

# Letters, marks and numbers are what one can hear; punctuation, symbols and white space are not.
_HEARD = "LMN"


def normalised(text: str) -> str:
    """Return what can be heard of *text*: one width, one case, no punctuation, no white space."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return "".join(letter for letter in folded if unicodedata.category(letter)[0] in _HEARD)


def can_be_said(phrase: str) -> bool:
    """Return whether *phrase* can be spoken: one of symbols only can't."""
    return bool(normalised(phrase))


def is_exact(said: str, phrase: str) -> bool:
    """Tell whether *said* is *phrase* to the letter. Silence matches nothing."""
    heard, wanted = normalised(said), normalised(phrase)
    return bool(heard) and hmac.compare_digest(heard.encode(), wanted.encode())


def is_alike(said: str, phrase: str, threshold: int, similarity: Callable[[str, str], int]) -> bool:
    """Return whether *said* is at least *threshold* percent similar to *phrase*, if that suffices.

    Calls *similarity* only if needed, because its libraries are slow to import.
    """
    heard, wanted = normalised(said), normalised(phrase)
    if not heard or not _bears_tolerance(wanted):
        return False
    return similarity(heard, wanted) >= threshold


def _bears_tolerance(phrase: str) -> bool:
    """Return whether a similar phrase is still hard to guess; codes and short words are not.

    "848" is 86% of "8848".
    """
    numerals = sum(unicodedata.numeric(letter, None) is not None for letter in phrase)
    if any(letter.isdecimal() for letter in phrase) or 2 * numerals >= len(phrase):
        return False
    # What takes two columns is a syllable, about as hard to guess as two letters.
    weight = sum(2 if unicodedata.east_asian_width(letter) == "W" else 1 for letter in phrase)
    return weight >= _TOLERANT_WEIGHT_MIN
