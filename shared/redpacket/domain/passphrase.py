"""A passphrase (口令): when what a user typed, or what speech recognition heard, is the phrase."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

THRESHOLD_DEFAULT = 80
"""One sound of 恭喜发财 may be heard wrong; another phrase of four characters does not pass."""

# Letters, marks and numbers are what one can hear; punctuation, symbols and white space are not.
_HEARD = "LMN"


def normalised(text: str) -> str:
    """Return what can be heard of *text*: one width, one case, no punctuation, no white space."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return "".join(letter for letter in folded if unicodedata.category(letter)[0] in _HEARD)


def can_be_said(phrase: str) -> bool:
    """Tell whether anything can be heard of *phrase*: nobody could say one of symbols only."""
    return bool(normalised(phrase))


def is_match(said: str, phrase: str, threshold: int, similarity: Callable[[str, str], int]) -> bool:
    """Tell whether *said* is *phrase*, or at least *threshold* per cent like it.

    *similarity* is asked only where the two are not the same, because its libraries are slow to
    import. Silence matches nothing.
    """
    heard, wanted = normalised(said), normalised(phrase)
    if not heard or not wanted:
        return False
    return heard == wanted or similarity(heard, wanted) >= threshold
