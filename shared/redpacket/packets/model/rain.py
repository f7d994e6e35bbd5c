"""Rain (红包雨) of a campaign: rounds, each of which opens several packets in the same second."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from redpacket.packets.model.claim import Share

ROUND_GAP_MS = 30_000
"""Milliseconds between two rounds, which leave time for the podium and the next countdown."""

SHOWN_AHEAD_MS = 3_000
"""Milliseconds before a round's start at which users first see the packet ids."""

PACKETS_MAX = 50
"""Maximum packets per rain, because one request funds them one after another."""

ROUNDS_MAX = 10
"""Maximum rounds of a rain."""

SHOWN_MAX = 100
"""Maximum rounds of a campaign that users see at one time."""

CROWD_MAX = 20
"""Maximum rounds that users see when a planned round appears. Two plans stored at the same moment
don't count each other, so users may see more.
"""

SHOWN_AFTER_MS = 300_000
"""Milliseconds for which users still see a round after its end."""

ROUND_S_MAX = 600
"""Maximum length of a round in seconds."""

NEAR_MS = SHOWN_AHEAD_MS + SHOWN_AFTER_MS + 1000 * ROUND_S_MAX
"""Milliseconds before and after a rain within which other rains' rounds may be visible with it."""

PODIUM_MAX = 3
"""Maximum claims on a round's podium."""

_PACKETS_DEFAULT = 6
"""Default number of packets per round, if the quota allows it."""


@dataclass(frozen=True, slots=True)
class Round:
    """Packets with the same start and end; *podium* has the best claims after the end."""

    starts_at_ms: int
    ends_at_ms: int
    packet_ids: tuple[str, ...] = ()
    podium: tuple[Share, ...] = ()


@dataclass(frozen=True, slots=True)
class Rain:
    """Planned rounds; *is_funded* means that all packets have money, so users see the rounds."""

    campaign_id: str
    plan_id: str
    rounds: Sequence[Round]
    is_funded: bool = False


def windows(starts_at_ms: int, seconds: int, rounds: int) -> list[Round]:
    """Return rounds with their times; each lasts *seconds*."""
    life_ms = 1000 * seconds
    starts = (starts_at_ms + n * (life_ms + ROUND_GAP_MS) for n in range(rounds))
    return [Round(start_ms, start_ms + life_ms) for start_ms in starts]


def is_crowded(rounds: Collection[Round]) -> bool:
    """Return whether one of *rounds* appears beside too many visible rounds that end no later."""
    ends = sorted(each.ends_at_ms for each in rounds)

    def shown_count(each: Round) -> int:
        oldest_ms = each.starts_at_ms - SHOWN_AHEAD_MS - SHOWN_AFTER_MS
        return bisect(ends, each.ends_at_ms) - bisect(ends, oldest_ms)

    return any(shown_count(each) > CROWD_MAX for each in rounds)


def default_packets(quota_per_user: int, rounds: int) -> int:
    """Return the default packets per round: at least one, and within the quota (0: no quota)."""
    if not quota_per_user:
        return _PACKETS_DEFAULT
    return max(1, min(_PACKETS_DEFAULT, quota_per_user // rounds))


def shares_of_total(total_fen: int, count: int) -> list[int]:
    """Return *count* nearly equal parts of a total, the larger ones first."""
    part, rest = divmod(total_fen, count)
    return [part + (n < rest) for n in range(count)]
