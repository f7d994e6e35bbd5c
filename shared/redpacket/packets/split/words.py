"""Random words from a seed by SHAKE-256, which every programming language can reproduce.

A word maps to low..high, inclusive, by `low + (word * (high - low + 1) >> WORD_BITS)`. The bias is
below 2^-24 for any amount. Callers inline this formula, because a function call would double the
time for a million shares.
"""

from __future__ import annotations

import hashlib
from array import array
from sys import byteorder

WORD_BITS = 64
WORD_MAX = 2**WORD_BITS - 1

WORDS_PER_BLOCK = 1_000
"""Words per block. Computing a block takes 20 microseconds and needs no earlier block."""


def seed_words(seed: bytes, count: int) -> array[int]:
    """Return the first *count* words of a seed: 64 bits each, big-endian."""
    words = array("Q", hashlib.shake_256(seed).digest(8 * count))
    if byteorder == "little":
        words.byteswap()
    return words


def word_block(seed: bytes, block_no: int, count: int) -> array[int]:
    """Return the first *count* words of one block of a seed; the hash also covers *block_no*."""
    return seed_words(seed + block_no.to_bytes(8, "big"), count)
