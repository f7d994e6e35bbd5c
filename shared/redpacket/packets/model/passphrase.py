"""Comparison of a passphrase (口令) with the text that a user entered or dictated."""

from __future__ import annotations

import hmac
import unicodedata
from collections.abc import Callable

from redpacket.platform.text import audible, with_ascii_digits

THRESHOLD_DEFAULT = 80
"""Percentage that allows one wrong sound in 恭喜发财 but rejects other phrases of this length."""

_TOLERANT_WEIGHT_MIN = 8
"""Minimum weight of a phrase that similar text may match: four syllables or eight letters."""

_DIGITS = str.maketrans("〇零一二三四五六七八九", "00123456789")
"""Chinese digits that users type or dictate one by one, such as 八八四八 for 8848."""


def is_exact(entered: str, phrase: str, simplified: Callable[[str], str]) -> bool:
    """Return whether *entered* equals *phrase*, regardless of script, digit style and punctuation.

    Every guess is converted with *simplified*, so that right and wrong guesses take the same time.
    """
    heard, wanted = (_in_one_script(audible(text), simplified) for text in (entered, phrase))
    return bool(heard) and hmac.compare_digest(heard.encode(), wanted.encode())


def is_alike(
    entered: str, phrase: str, threshold: int, similarity: Callable[[str, str], int]
) -> bool:
    """Return whether similar text may match *phrase*, and the similarity is at least *threshold*.

    Calls *similarity* only if needed, because its libraries are slow to import.
    """
    heard, wanted = audible(entered), audible(phrase)
    if not heard or not _bears_tolerance(wanted):
        return False
    return similarity(heard, wanted) >= threshold


def _in_one_script(text: str, simplified: Callable[[str], str]) -> str:
    return with_ascii_digits(simplified(text)).translate(_DIGITS)


def _bears_tolerance(phrase: str) -> bool:
    """Return whether similar text may match *phrase*; codes and short words are too easy to guess.

    For example, "848" is 86% similar to "8848".
    """
    numerals = sum(unicodedata.numeric(letter, None) is not None for letter in phrase)
    if any(letter.isdecimal() for letter in phrase) or 2 * numerals >= len(phrase):
        return False
    # A wide character is one syllable, which is about as hard to guess as two letters.
    weight = sum(2 if unicodedata.east_asian_width(letter) == "W" else 1 for letter in phrase)
    return weight >= _TOLERANT_WEIGHT_MIN
