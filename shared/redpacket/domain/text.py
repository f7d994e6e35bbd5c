"""What people may write: composed, visible, and unable to disguise itself."""

from __future__ import annotations

import unicodedata

# Control, format (bidi and zero-width), surrogate, private use, unassigned; line and paragraph
# separators.
_REFUSED = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def composed(text: str) -> str:
    """Return *text* in NFC, without white space at its ends."""
    return unicodedata.normalize("NFC", text).strip()


def is_visible(text: str) -> bool:
    """Tell whether *text* holds no control, bidi, zero-width or unassigned character."""
    return not any(unicodedata.category(character) in _REFUSED for character in text)
