"""The rule of the double mean (二倍均值), for the splits that draw by it."""

from __future__ import annotations

from redpacket.domain.split.terms import Units


def bounds_of_next(units: Units, left: int, left_count: int, twice_mean: int) -> tuple[int, int]:
    """Return between what the next of *left_count* shares is drawn, *left* units being left.

    Up to twice the mean of what is left, less the least share: so the mean of the draw is that
    mean. But what remains must be possible with the later shares, each within the bounds.
    """
    later_count = left_count - 1
    smallest = max(units.low, left - units.high * later_count)
    largest = min(max(smallest, twice_mean - units.low), units.high, left - units.low * later_count)
    return smallest, largest
