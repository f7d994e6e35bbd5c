"""Splits that compute all shares at once and shuffle them, so that no position is luckier.

The loops are flat and use arrays, because a packet's first claim may wait for 1,000,000 shares.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from dataclasses import replace
from math import isqrt

from redpacket.packets.split.terms import Split, Terms, Units, units_of
from redpacket.packets.split.words import WORD_BITS, seed_words


def presplit(terms: Terms) -> array[int]:
    """Return all amounts in fen. Raises SplitImpossible."""
    units = units_of(terms)
    words_per_share, draw = _DRAWS[terms.split]
    words = iter(seed_words(terms.seed, words_per_share * units.count))
    amounts = draw(units, words)
    _shuffle(amounts, words)
    if terms.unit_fen == 1:
        return amounts
    return array("Q", (amount * terms.unit_fen for amount in amounts))


def _shuffle(amounts: array[int], words: Iterator[int]) -> None:
    """Shuffle in place (Fisher-Yates, from the end)."""
    for last, word in zip(range(len(amounts) - 1, 0, -1), words, strict=False):
        other = word * (last + 1) >> WORD_BITS
        amounts[last], amounts[other] = amounts[other], amounts[last]


def _double_mean(units: Units, words: Iterator[int]) -> array[int]:
    """Draw each share's extra over the minimum, up to twice the mean (二倍均值), rounded down.

    The rounding slightly favors the last shares. The shuffle then removes this bias.
    """
    # Every share gets the minimum.
    # Draw the extra: up to twice its mean, and within the range that later shares can absorb.
    low, high = units.low, units.high - units.low
    left = units.total - low * units.count
    amounts = array("Q")
    append = amounts.append
    # Iterate the range first, so that zip ends without consuming a word of the shuffle.
    for left_count, word in zip(range(units.count, 0, -1), words, strict=False):
        most = 2 * left // left_count
        least = left - high * (left_count - 1)
        if least > 0:
            most = min(max(least, most), left)
        else:
            least = 0
        most = min(most, high)
        rest = least + (word * (most - least + 1) >> WORD_BITS)
        append(low + rest)
        left -= rest
    return amounts


def _base_double_mean(units: Units, words: Iterator[int]) -> array[int]:
    """Give each share one of count + 1 equal parts, and split the rest by double mean."""
    base = units.total // (units.count + 1)
    return _double_mean(replace(units, low=max(base, units.low)), words)


def _bell(units: Units, words: Iterator[int]) -> array[int]:
    """Draw each share from one of two slopes that meet at the mean, then repair the sum.

    The square root of a uniform number makes values near the mean likelier. Each slope's
    probability is proportional to the other slope's width, which preserves the mean.
    """
    # Widths of the slopes, times count: the mean itself may not be an integer.
    low, high, count = units.low, units.high, units.count
    lower = units.total - count * low
    upper = count * high - units.total
    # The smallest word that maps to *upper* or more in the range 0..lower + upper - 1.
    first_upper = -(-(upper << WORD_BITS) // (lower + upper)) if upper else 0
    twice_lower, twice_upper = 2 * lower, 2 * upper
    amounts = array("Q")
    append = amounts.append
    for _, side, word in zip(range(count), words, words, strict=False):
        # A root is below 2^32. Round its fraction of a slope to the nearest unit, halves up.
        if side < first_upper:
            append(low + ((isqrt(word) * twice_lower // count >> 32) + 1 >> 1))
        else:
            append(high - ((isqrt(word) * twice_upper // count >> 32) + 1 >> 1))
    return _repaired(amounts, units)


def _cut_points(units: Units, words: Iterator[int]) -> array[int]:
    """Cut the line of all units at count - 1 distinct places, and cap each piece."""
    # Each piece has at least one unit; the rest of the minimum is added at the end.
    rest, high = units.low - 1, units.high
    length = units.total - units.count * rest
    places: set[int] = set()
    add = places.add
    # Floyd's sampling: each set of places is equally likely, without rejections.
    for last, word in zip(range(length - units.count + 1, length), words, strict=False):
        place = 1 + (word * last >> WORD_BITS)
        add(last if place in places else place)
    ends = sorted(places)
    ends.append(length)
    amounts, start = array("Q"), 0
    append = amounts.append
    for end in ends:
        piece = end - start + rest
        append(min(high, piece))
        start = end
    # Distribute the excess of capped pieces.
    return _repaired(amounts, units)


def _repaired(amounts: array[int], units: Units) -> array[int]:
    """Make *amounts* add up to the total; each moves in proportion to its distance from the bound.

    The cumulative moves are rounded, so that the sum is exact in one pass.
    """
    missing = units.total - sum(amounts)
    if not missing:
        return amounts
    bound, step = (units.high, 1) if missing > 0 else (units.low, -1)
    # The divisor is never zero, because the total is within the bounds.
    # Only the ratio of the distances matters, so their sign cancels out.
    all_room = units.count * bound - sum(amounts)
    missing = abs(missing)
    moved = room = 0
    repaired = array("Q")
    append = repaired.append
    for amount in amounts:
        room += bound - amount
        reached = room * missing // all_room
        append(amount + step * (reached - moved))
        moved = reached
    return repaired


# For each split: the words per share, one of them for the shuffle, and the function.
_DRAWS: dict[Split, tuple[int, Callable[[Units, Iterator[int]], array[int]]]] = {
    Split.DOUBLE_MEAN: (2, _double_mean),
    Split.BASE_DOUBLE_MEAN: (2, _base_double_mean),
    Split.BELL: (3, _bell),
    Split.CUT_POINTS: (2, _cut_points),
}
