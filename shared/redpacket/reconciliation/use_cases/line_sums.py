"""Sums of lines in buckets: bounded memory for a ledger of any size.

Each line's weight comes from its text and a secret key. Weight x amount is added to the subject's
bucket modulo a prime, so a nonzero bucket holds a difference. An attacker who can write rows can't
balance a bucket, because only reconciliation reads the key.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable
from zlib import crc32

from redpacket.reconciliation.lines import Line

BUCKET_COUNT = 4096
"""32 KB: three sets of sums fit into one row, written about twice a minute."""

_PRIME = (1 << 61) - 1
"""Modulus: a smaller difference never vanishes, as it might modulo a power of two."""


class LineSums:
    """One sum per bucket."""

    def __init__(self, kept: bytes = b"") -> None:
        self._sums = array("Q", kept or bytes(8 * BUCKET_COUNT))

    def add(self, subject: str, value: int) -> None:
        """Add a value of `weigh`."""
        number = bucket_of(subject)
        self._sums[number] = (self._sums[number] + value) % _PRIME

    def plus(self, other: LineSums) -> LineSums:
        """Return the sums of both."""
        pairs = zip(self._sums, other._sums, strict=True)
        return LineSums(array("Q", ((one + two) % _PRIME for one, two in pairs)).tobytes())

    def unequal(self, other: LineSums) -> set[int]:
        """Return the buckets that differ."""
        pairs = zip(self._sums, other._sums, strict=True)
        return {number for number, (one, two) in enumerate(pairs) if one != two}

    def unequal_to_zero(self) -> set[int]:
        """Return the buckets that hold a difference."""
        return {number for number, total in enumerate(self._sums) if total}

    def clear(self, buckets: Iterable[int]) -> None:
        """Set some buckets to zero."""
        for number in buckets:
            self._sums[number] = 0

    def kept(self) -> bytes:
        """Return the sums in stored form."""
        return self._sums.tobytes()


def bucket_of(subject: str) -> int:
    """Return the bucket of a subject."""
    return crc32(subject.encode()) % BUCKET_COUNT


def weigh(key: bytes, line: Line) -> int:
    """Return weight x amount of a line."""
    _, subject, text, amount = line
    digest = hashlib.blake2b(f"{subject}\n{text}".encode(), key=key, digest_size=8).digest()
    # Never zero: each line counts.
    return (int.from_bytes(digest) % (_PRIME - 1) + 1) * amount
