"""Thank-you emoji that a claimer gives for a share, once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Emoji: TypeAlias = Literal["🙏", "❤️", "🎉", "👍", "👏", "🌹", "🧧", "😄", "😍", "🥳", "🔥", "💰"]


@dataclass(frozen=True, slots=True)
class Thanks:
    """Thanks for one share."""

    packet_id: str
    share_no: int
    emoji: str
