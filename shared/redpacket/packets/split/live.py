"""Split that computes each share when it is claimed, in constant memory.

Word k of the seed and the remainder before share k determine share k. Cached remainders
(checkpoints) avoid computing all earlier shares again.
"""

from __future__ import annotations

from array import array
from functools import lru_cache
from itertools import chain
from threading import Lock

from redpacket.packets.split.terms import Terms, Units, units_of
from redpacket.packets.split.words import WORD_BITS, WORD_MAX, WORDS_PER_BLOCK, word_block

_PACKETS_KEPT = 64
"""Maximum cached packets, about 20 KB each. An evicted packet is computed again from share 1."""

_CHECKPOINTS_MAX = 64
"""Maximum checkpoints per packet. With 1,000,000 shares, one checkpoint covers 16,000 shares."""

_BLOCKS_KEPT = 2
"""Cached blocks per packet. Concurrent claims at the border of two blocks need both of them."""


def live_amount_fen(terms: Terms, share_no: int) -> int:
    """Return the amount of one share. Raises SplitImpossible."""
    return _walk_of(terms).amount_fen(share_no)


def live_amounts_fen(terms: Terms) -> array[int]:
    """Return all amounts. Raises SplitImpossible."""
    walk = _Walk(terms)
    block_count = -(-terms.count // WORDS_PER_BLOCK)
    blocks = (walk.block(block_no) for block_no in range(block_count))
    return array("Q", (amount * terms.unit_fen for amount in chain.from_iterable(blocks)))


class _Walk:
    """Amounts of a packet's shares, computed block by block."""

    def __init__(self, terms: Terms) -> None:
        self._units = units_of(terms)
        self._unit_fen = terms.unit_fen
        self._seed = terms.seed
        # Remainders at the start of blocks 0, *stride*, 2 x *stride*, ...
        self._checkpoints = [self._units.total]
        self._stride = 1
        # Next block and the remainder at its start, because claims arrive nearly in order.
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
            self._checkpoint(number + 1, left)
        while len(self._blocks) >= _BLOCKS_KEPT:
            del self._blocks[next(iter(self._blocks))]
        self._blocks[block_no] = amounts
        return amounts

    def _start_before(self, block_no: int) -> tuple[int, int]:
        """Return the last block up to *block_no* whose start is known, and the remainder there."""
        place = min(block_no // self._stride, len(self._checkpoints) - 1)
        checkpoint = (place * self._stride, self._checkpoints[place])
        return max(checkpoint, self._next) if self._next[0] <= block_no else checkpoint

    def _checkpoint(self, block_no: int, left: int) -> None:
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
    # This is the double mean (presplit.py) without a shuffle, so it must favor no position.
    # Twice the mean rounds up with the probability of its fraction.
    # If the cap is closer to the mean than the minimum is, draw the distance below the cap.
    # The expected share is then the remainder's mean, and the rest can always be split.
    low, high = units.low, units.high - units.low
    left -= low * left_count
    amounts = array("Q")
    append = amounts.append
    for word in words:
        room = high * left_count - left
        is_room = room < left
        nearest = room if is_room else left
        most, fraction = divmod(2 * nearest, left_count)
        product = word * left_count
        if product >> WORD_BITS < fraction:
            most += 1
        left_count -= 1
        if left_count:
            rest = (product & WORD_MAX) * (most + 1) >> WORD_BITS
            rest = high - rest if is_room else rest
        else:
            rest = left
        append(low + rest)
        left -= rest
    return amounts
