"""Random numbers from a seed, reproducible in every language: words from SHAKE-256.

A word maps to low..high, inclusive, by `low + (word * (high - low + 1) >> WORD_BITS)`. The bias is
below 2^-24 for any amount. Callers inline it: a function call would double the time of a million
shares.
"""

from __future__ import annotations

import hashlib
from array import array
from sys import byteorder

WORD_BITS = 64
WORD_MAX = 2**WORD_BITS - 1

WORDS_PER_BLOCK = 1_000
"""Words per block; a block is computed without earlier blocks, 8,000 bytes in 20 microseconds."""


def seed_words(seed: bytes, count: int) -> array[int]:
    """Return the first *count* words of a seed: 64 bits each, big-endian."""
    words = array("Q", hashlib.shake_256(seed).digest(8 * count))
    if byteorder == "little":
        words.byteswap()
    return words


def word_block(seed: bytes, block_no: int, count: int) -> array[int]:
    """Return the first *count* words of the block for a seed and a number (8 bytes)."""
    return seed_words(seed + block_no.to_bytes(8, "big"), count)
