"""Sums of lines in buckets: bounded memory for a ledger of any size.

Each line has a weight that a secret key gives its text, and is added to the bucket of its subject
as weight x amount, modulo a prime. A bucket in which all lines balance is zero; one that is not
holds a difference. A thief who may write rows can't balance a bucket: the key never leaves the
table of the runs, which only reconciliation reads.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable
from zlib import crc32

from redpacket.domain.lines import Line

BUCKET_COUNT = 4096
"""32 KB: three sets of sums fit into one row, which is written about twice a minute."""

_PRIME = (1 << 61) - 1
"""An amount that differs by less than this never vanishes, as it might modulo a power of two."""


class LineSums:
    """One sum for each bucket."""

    def __init__(self, kept: bytes = b"") -> None:
        self._sums = array("Q", kept or bytes(8 * BUCKET_COUNT))

    def add(self, subject: str, value: int) -> None:
        """Add what `weigh` returned."""
        number = bucket_of(subject)
        self._sums[number] = (self._sums[number] + value) % _PRIME

    def plus(self, other: LineSums) -> LineSums:
        """Return the sums of both."""
        pairs = zip(self._sums, other._sums, strict=True)
        return LineSums(array("Q", ((one + two) % _PRIME for one, two in pairs)).tobytes())

    def unequal(self, other: LineSums) -> set[int]:
        """Return the buckets in which these sums and others differ."""
        pairs = zip(self._sums, other._sums, strict=True)
        return {number for number, (one, two) in enumerate(pairs) if one != two}

    def unequal_to_zero(self) -> set[int]:
        """Return the buckets that hold a difference."""
        return {number for number, total in enumerate(self._sums) if total}

    def clear(self, buckets: Iterable[int]) -> None:
        """Set some buckets back to zero."""
        for number in buckets:
            self._sums[number] = 0

    def kept(self) -> bytes:
        """Return the sums as a row keeps them."""
        return self._sums.tobytes()


def bucket_of(subject: str) -> int:
    """Return where the lines of a subject are summed up."""
    return crc32(subject.encode()) % BUCKET_COUNT


def weigh(key: bytes, line: Line) -> int:
    """Return weight x amount of a line."""
    _, subject, text, amount = line
    digest = hashlib.blake2b(f"{subject}\n{text}".encode(), key=key, digest_size=8).digest()
    # Never zero: each line counts.
    return (int.from_bytes(digest) % (_PRIME - 1) + 1) * amount
