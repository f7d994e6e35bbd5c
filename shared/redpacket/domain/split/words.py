"""Random numbers from a seed, the same in every language and version: words of SHAKE-256.

A word is mapped to low..high, both included, by `low + (word * (high - low + 1) >> WORD_BITS)`. The
bias is below (high - low + 1) / 2^64: under 2^-24 for any amount that the contract admits. That is
written out where it is used: with a call for each, a million shares would take twice as long.
"""

from __future__ import annotations

import hashlib
from array import array
from sys import byteorder

WORD_BITS = 64
WORD_MAX = 2**WORD_BITS - 1

WORDS_PER_BLOCK = 1_000
"""Words that are reached at once, without those before them: 8,000 bytes, 20 microseconds."""


def seed_words(seed: bytes, count: int) -> array[int]:
    """Return the first *count* words of a seed: 64 bits each, big-endian."""
    words = array("Q", hashlib.shake_256(seed).digest(8 * count))
    if byteorder == "little":
        words.byteswap()
    return words


def word_block(seed: bytes, block_no: int, count: int) -> array[int]:
    """Return the first *count* words of a block: those of seed and number (8 bytes)."""
    return seed_words(seed + block_no.to_bytes(8, "big"), count)
