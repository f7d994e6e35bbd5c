"""Thanks of a claimer to the sender."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Thanks:
    """Emoji, text or both; the text is "" after an operator or an erasure has removed it."""

    emoji: str | None = None
    text: str | None = None
