"""Splits that decide all shares together; shuffled, so that every position is equally lucky."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from math import isqrt

from redpacket.domain.split.double_mean import bounds_of_next
from redpacket.domain.split.terms import Split, Terms, Units, units_of
from redpacket.domain.split.words import RandomWords

_WORDS_PER_SHARE = 3
"""What the hungriest takes: two for a draw of bell, one for the shuffle."""


def presplit(terms: Terms) -> Sequence[int]:
    """Return all amounts in fen. Raises SplitImpossible."""
    units = units_of(terms)
    words = RandomWords(terms.seed, _WORDS_PER_SHARE * units.count)
    amounts = _DRAWS[terms.split](units, words)
    words.shuffle(amounts)
    if terms.unit_fen == 1:
        return amounts
    return [amount * terms.unit_fen for amount in amounts]


def _double_mean(units: Units, words: RandomWords) -> list[int]:
    """Draw each share around the mean of what is left (二倍均值), twice of which is rounded down.

    That favours the last by a little, and they are the luckiest more often: the shuffle mends it.
    """
    left, amounts = units.total, []
    for left_count in range(units.count, 0, -1):
        amount = words.pick(*bounds_of_next(units, left, left_count, 2 * left // left_count))
        amounts.append(amount)
        left -= amount
    return amounts


def _base_double_mean(units: Units, words: RandomWords) -> list[int]:
    """Give everybody one of count + 1 equal parts, and split what remains: small differences."""
    base = max(units.total // (units.count + 1), units.low)
    extra = replace(units, total=units.total - base * units.count, low=0, high=units.high - base)
    return [base + amount for amount in _double_mean(extra, words)]


def _bell(units: Units, words: RandomWords) -> list[int]:
    """Draw each share from two slopes that meet at the mean, then repair the sum.

    The root of a uniform number is likelier the larger it is: so are values near the mean. The
    lower slope is as likely as the upper one is wide, which keeps the mean.
    """
    # Widths of the slopes, times count: the mean itself is no integer.
    lower = units.total - units.count * units.low
    upper = units.count * units.high - units.total
    amounts = []
    for _ in range(units.count):
        is_lower = words.pick(0, lower + upper - 1) < upper
        root = isqrt(words.word())
        if is_lower:
            amounts.append(units.low + _part(root, lower, units.count))
        else:
            amounts.append(units.high - _part(root, upper, units.count))
    return _repaired(amounts, units)


def _part(root: int, width: int, count: int) -> int:
    """Return root / 2^32 of width / count, rounded to the nearest, halves up."""
    return ((2 * root * width // count >> 32) + 1) >> 1


def _cut_points(units: Units, words: RandomWords) -> list[int]:
    """Cut the line of all units at count - 1 distinct places; what is too long is cut off."""
    # Every piece is at least one unit long: the rest of the least share is added at the end.
    length = units.total - units.count * (units.low - 1)
    places: set[int] = set()
    # Floyd's sampling: each set of places is equally likely, and no draw is repeated.
    for last in range(length - units.count + 1, length):
        place = words.pick(1, last)
        places.add(last if place in places else place)
    ends = [0, *sorted(places), length]
    pieces = (end - start + units.low - 1 for start, end in pairwise(ends))
    return _repaired([min(piece, units.high) for piece in pieces], units)


def _repaired(amounts: list[int], units: Units) -> list[int]:
    """Make *amounts* within the bounds add up: each moves in proportion to the room it has.

    The rounded sums of moves decide, so that they add up exactly, in one pass.
    """
    missing = units.total - sum(amounts)
    if not missing:
        return amounts
    bound, step = (units.high, 1) if missing > 0 else (units.low, -1)
    # Never zero: the bounds admit the total, so there is room for all that is missing.
    all_room = abs(units.count * bound - sum(amounts))
    moved = room = 0
    repaired = []
    for amount in amounts:
        room += abs(bound - amount)
        move = room * abs(missing) // all_room - moved
        moved += move
        repaired.append(amount + step * move)
    return repaired


_DRAWS: dict[Split, Callable[[Units, RandomWords], list[int]]] = {
    Split.DOUBLE_MEAN: _double_mean,
    Split.BASE_DOUBLE_MEAN: _base_double_mean,
    Split.BELL: _bell,
    Split.CUT_POINTS: _cut_points,
}
