"""Rules for users' texts: composed, visible, and free of disguise."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import cache

# Control, format (bidi and zero-width), surrogate, private use, unassigned; line and paragraph
# separators.
_REFUSED = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}

# Invisible characters in the category of a letter, a mark or a symbol: the rest of
# Default_Ignorable_Code_Point (fillers of Hangul and Khmer, selectors of variations), the blank
# pattern of Braille, a musical blank and the place of an object.
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0d\uffa0\ufffc"
    "\U0001d159\U000e0100-\U000e01ef]"
)

# Only letters, marks and numbers are audible.
_HEARD = "LMN"

# Select how an emoji looks: text or picture. They may follow one, or a key's digit, and no other.
_SELECTORS = frozenset("\ufe0e\ufe0f")
_KEYS = frozenset("0123456789#*")

RESERVED_WORDS = (
    *("admin", "administrator", "hongbao", "moderator", "official", "redpacket", "root"),
    *("service", "support", "system", "wechat", "weixin"),
)
"""Words that no name may consist of or contain."""

RESERVED_PHRASES = (
    *("系统", "系統", "官方", "管理员", "管理員", "客服", "运营", "營運", "工作人员", "工作人員"),
    *("微信支付", "微信团队", "微信團隊", "财付通", "財付通"),
)
"""Words that no name may contain."""


def composed(text: str) -> str:
    """Return *text* in NFC, without white space at its ends."""
    return unicodedata.normalize("NFC", text).strip()


def audible(text: str) -> str:
    """Return the audible characters of *text* in one width and case."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return "".join(letter for letter in folded if unicodedata.category(letter)[0] in _HEARD)


def is_visible(text: str) -> bool:
    """Return whether every character is visible: no control, bidi, zero-width or unassigned one."""
    if any(unicodedata.category(character) in _REFUSED for character in text):
        return False
    return not _BLANK.search(text) and all(
        _may_be_selected(before)
        for before, character in zip(" " + text, text, strict=False)
        if character in _SELECTORS
    )


def folded(text: str) -> str:
    """Return *text* without case, width and marks: what a reader takes for the same."""
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text).casefold())
    return "".join(letter for letter in plain if unicodedata.category(letter)[0] != "M")


def is_reserved(name: str, skeleton_of: Callable[[str], str] = str) -> bool:
    """Return whether *name* impersonates the system or its operators.

    *skeleton_of* maps look-alikes to plain letters; without it they pass.
    """
    words, phrases = _reserved(skeleton_of)
    # Characters between letters divide words, or spell one out: a.d.m.i.n.
    fragments = [part for part in re.split(r"[\W\d_]+", folded(skeleton_of(name))) if part]
    joined = "".join(fragments)
    return (
        joined in words
        or not words.isdisjoint(fragments)
        or any(phrase in joined for phrase in phrases)
    )


@cache
def _reserved(skeleton_of: Callable[[str], str]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the reserved words and phrases as they are compared; ADMlN looks like ADMIN."""

    def compared(*texts: str) -> frozenset[str]:
        return frozenset(folded(skeleton_of(text)) for text in texts)

    cases = (case for word in RESERVED_WORDS for case in (word, word.upper()))
    return compared(*cases), compared(*RESERVED_PHRASES)


def _may_be_selected(before: str) -> bool:
    return before in _KEYS if before.isascii() else unicodedata.category(before)[0] == "S"
