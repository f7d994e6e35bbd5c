"""Random numbers from a seed, the same in every language and version: words of SHAKE-256."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import MutableSequence
from sys import byteorder

WORD_BITS = 64
WORD_MAX = 2**WORD_BITS - 1

WORDS_PER_BLOCK = 1_000
"""Words that are reached at once, without those before them: 8,000 bytes, 20 microseconds."""


def scale(word: int, low: int, high: int) -> int:
    """Map a word of 64 bits to low..high, both included.

    The bias is below (high - low + 1) / 2^64: under 2^-24 for any amount that the contract admits.
    """
    return low + ((word * (high - low + 1)) >> WORD_BITS)


class RandomWords:
    """SHAKE-256 of the seed as 64-bit big-endian words, drawn one after the other."""

    def __init__(self, seed: bytes, count: int) -> None:
        self._words = _words(seed, count)
        self._next = 0

    def word(self) -> int:
        """Draw a word."""
        word = self._words[self._next]
        self._next += 1
        return word

    def pick(self, low: int, high: int) -> int:
        """Draw an integer from low..high, both included."""
        return scale(self.word(), low, high)

    def shuffle(self, amounts: MutableSequence[int]) -> None:
        """Shuffle in place (Fisher-Yates, from the end)."""
        for last in range(len(amounts) - 1, 0, -1):
            other = self.pick(0, last)
            amounts[last], amounts[other] = amounts[other], amounts[last]


def word_block(seed: bytes, block_no: int, count: int) -> array[int]:
    """Return the first *count* words of a block: SHAKE-256 of seed and number (8 bytes)."""
    return _words(seed + block_no.to_bytes(8, "big"), count)


def _words(material: bytes, count: int) -> array[int]:
    words = array("Q", hashlib.shake_256(material).digest(8 * count))
    if byteorder == "little":
        words.byteswap()
    return words
