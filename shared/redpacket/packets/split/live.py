"""The split that decides each share when it is claimed, in constant memory.

Share k follows from word k of the seed and the remainder before it. Cached checkpoints shorten the
replay.
"""

from __future__ import annotations

from array import array
from functools import lru_cache
from itertools import chain
from threading import Lock

from redpacket.packets.split.terms import Terms, Units, units_of
from redpacket.packets.split.words import WORD_BITS, WORD_MAX, WORDS_PER_BLOCK, word_block

_PACKETS_KEPT = 64
"""About 20 KB each; a packet that is forgotten is replayed."""

_CHECKPOINTS_MAX = 64
"""A packet of 1,000,000 shares has one every 16 blocks: 16,000 draws are at most replayed."""

_BLOCKS_KEPT = 2
"""Claims at a border between two blocks come from both of them for a while."""


def live_amount_fen(terms: Terms, share_no: int) -> int:
    """Return the amount of one share. Raises SplitImpossible."""
    return _walk_of(terms).amount_fen(share_no)


def live_amounts_fen(terms: Terms) -> array[int]:
    """Return all amounts, by a walk from the first to the last. Raises SplitImpossible."""
    walk = _Walk(terms)
    block_count = -(-terms.count // WORDS_PER_BLOCK)
    blocks = (walk.block(block_no) for block_no in range(block_count))
    return array("Q", (amount * terms.unit_fen for amount in chain.from_iterable(blocks)))


class _Walk:
    """A packet's shares, a block at a time."""

    def __init__(self, terms: Terms) -> None:
        self._units = units_of(terms)
        self._unit_fen = terms.unit_fen
        self._seed = terms.seed
        # What is left at the start of block 0, of block *stride*, of block 2 x *stride*, ...
        self._checkpoints = [self._units.total]
        self._stride = 1
        # The block after the last one that was drawn: claims come nearly in order.
        self._next = (0, self._units.total)
        self._blocks: dict[int, array[int]] = {}
        self._lock = Lock()

    def amount_fen(self, share_no: int) -> int:
        block_no, place = divmod(share_no - 1, WORDS_PER_BLOCK)
        return self.block(block_no)[place] * self._unit_fen

    def block(self, block_no: int) -> array[int]:
        """Return the shares of a block, in units."""
        with self._lock:
            return self._blocks.get(block_no) or self._reach(block_no)

    def _reach(self, block_no: int) -> array[int]:
        start_no, left = self._start_before(block_no)
        amounts = array("Q")
        for number in range(start_no, block_no + 1):
            amounts = _draw_block(self._units, self._seed, number, left)
            left -= sum(amounts)
            self._remember(number + 1, left)
        while len(self._blocks) >= _BLOCKS_KEPT:
            del self._blocks[next(iter(self._blocks))]
        self._blocks[block_no] = amounts
        return amounts

    def _start_before(self, block_no: int) -> tuple[int, int]:
        """Return the nearest block at or before this one whose start is known, and what is left."""
        place = min(block_no // self._stride, len(self._checkpoints) - 1)
        known = (place * self._stride, self._checkpoints[place])
        return max(known, self._next) if self._next[0] <= block_no else known

    def _remember(self, block_no: int, left: int) -> None:
        self._next = (block_no, left)
        if block_no != len(self._checkpoints) * self._stride:
            return
        self._checkpoints.append(left)
        if len(self._checkpoints) > _CHECKPOINTS_MAX:
            del self._checkpoints[1::2]
            self._stride *= 2


@lru_cache(maxsize=_PACKETS_KEPT)
def _walk_of(terms: Terms) -> _Walk:
    return _Walk(terms)


def _draw_block(units: Units, seed: bytes, block_no: int, left: int) -> array[int]:
    left_count = units.count - block_no * WORDS_PER_BLOCK
    words = word_block(seed, block_no, min(left_count, WORDS_PER_BLOCK))
    # The rule of the double mean (presplit.py), but nothing is shuffled here, so nothing may favour
    # a position. Twice the mean is rounded up as often as its fraction says. Where the cap is
    # nearer to the mean than the least share is, the room below the cap is drawn. So the expected
    # share is exactly the mean of what is left, and what remains is always possible.
    low, high = units.low, units.high - units.low
    left -= low * left_count
    amounts = array("Q")
    append = amounts.append
    for word in words:
        room = high * left_count - left
        is_room = room < left
        nearest = room if is_room else left
        most, fraction = divmod(2 * nearest, left_count)
        drawn = word * left_count
        if drawn >> WORD_BITS < fraction:
            most += 1
        left_count -= 1
        if left_count:
            rest = (drawn & WORD_MAX) * (most + 1) >> WORD_BITS
            rest = high - rest if is_room else rest
        else:
            rest = left
        append(low + rest)
        left -= rest
    return amounts
