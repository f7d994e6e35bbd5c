"""How a packet's total becomes shares: a pure function of its terms and secret seed."""

from __future__ import annotations

import hashlib
from array import array
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from sys import byteorder

from redpacket.domain.errors import SplitImpossible

SEED_BYTES = 16
"""128 random bits: the commitment to a seed can't be opened by trying seeds."""

_CANONICAL_VERSION = "rp1"


class Split(StrEnum):
    """The algorithms, by the names of the HTTP contract."""

    EQUAL = "equal"
    DOUBLE_MEAN = "double_mean"


@dataclass(frozen=True, slots=True)
class Terms:
    """All that decides a packet's amounts; immutable once the packet is funded.

    *seed* is secret until the packet has ended. `str(terms)` is the canonical form: the commitment
    hashes it, the packet row and the cache hold it, a verifier reads it back. It is short, because
    a hash of Redis stays packed only while no field is over 64 bytes (ADR 0002).
    """

    split: Split
    total_fen: int
    count: int
    share_fen_min: int
    share_fen_max: int
    unit_fen: int
    seed: bytes

    def __str__(self) -> str:
        return ",".join(
            (
                _CANONICAL_VERSION,
                self.split,
                str(self.total_fen),
                str(self.count),
                str(self.share_fen_min),
                str(self.share_fen_max),
                str(self.unit_fen),
                urlsafe_b64encode(self.seed).rstrip(b"=").decode(),
            )
        )

    @classmethod
    def parse(cls, text: str) -> Terms:
        """Read the canonical form back; ValueError if it isn't one."""
        version, split, total, count, low, high, unit, seed = text.split(",")
        if version != _CANONICAL_VERSION:
            msg = f"unknown form of terms: {version}"
            raise ValueError(msg)
        return cls(
            Split(split),
            int(total),
            int(count),
            int(low),
            int(high),
            int(unit),
            urlsafe_b64decode(seed + "=" * (-len(seed) % 4)),
        )

    @property
    def commitment(self) -> str:
        """SHA-256 of the canonical form, hex: published at send, opened after the end."""
        return hashlib.sha256(str(self).encode()).hexdigest()


class RandomWords:
    """SHAKE-256 of the seed as 64-bit big-endian words: the same in every language and version.

    A draw is `low + (word * span >> 64)`; its bias is below span / 2^64, under 2^-30 for any
    amount that the contract admits.
    """

    def __init__(self, seed: bytes, count: int) -> None:
        self._words = array("Q", hashlib.shake_256(seed).digest(8 * count))
        if byteorder == "little":
            self._words.byteswap()
        self._next = 0

    def pick(self, low: int, high: int) -> int:
        """Draw an integer from low..high, both included."""
        word = self._words[self._next]
        self._next += 1
        return low + ((word * (high - low + 1)) >> 64)


def check_possible(terms: Terms) -> None:
    """Raise SplitImpossible, saying why, unless *terms* have at least one legal outcome."""
    if terms.share_fen_min > terms.share_fen_max:
        reason = "share_fen_min is above share_fen_max"
    elif terms.total_fen < terms.count * terms.share_fen_min:
        reason = f"{terms.count} shares of at least {terms.share_fen_min} fen exceed the total"
    elif terms.total_fen > terms.count * terms.share_fen_max:
        reason = f"{terms.count} shares of at most {terms.share_fen_max} fen can't reach the total"
    elif terms.split is Split.EQUAL and terms.total_fen % terms.count:
        reason = f"total_fen is not divisible by {terms.count}"
    else:
        return
    raise SplitImpossible(reason)


def amounts_fen(terms: Terms) -> Sequence[int]:
    """Return the amount of share 1, 2, ... *count*; they add up to the total exactly."""
    check_possible(terms)
    return _ALGORITHMS[terms.split](terms)


def share_amount_fen(terms: Terms, share_no: int) -> int:
    """Return the amount of one share; IndexError outside 1..count."""
    if not 1 <= share_no <= terms.count:
        msg = f"share {share_no} of {terms.count}"
        raise IndexError(msg)
    if terms.split is Split.EQUAL:
        return terms.total_fen // terms.count
    return amounts_fen(terms)[share_no - 1]


def _equal(terms: Terms) -> Sequence[int]:
    return [terms.total_fen // terms.count] * terms.count


def _double_mean(terms: Terms) -> Sequence[int]:
    """Share i is uniform around the mean of what is left (二倍均值), then all are shuffled.

    Without the shuffle every position has the same mean, but not the same chance to be the
    luckiest (SPEC §2).
    """
    left_fen, low, high = terms.total_fen, terms.share_fen_min, terms.share_fen_max
    # One word per draw, one per shuffle step.
    words = RandomWords(terms.seed, 2 * terms.count)
    amounts = []
    for left_count in range(terms.count, 0, -1):
        later_count = left_count - 1
        smallest = max(low, left_fen - high * later_count)
        largest = min(
            max(smallest, 2 * left_fen // left_count - low), high, left_fen - low * later_count
        )
        amount = words.pick(smallest, largest)
        amounts.append(amount)
        left_fen -= amount
    _shuffle(amounts, words.pick)
    return amounts


def _shuffle(amounts: list[int], pick: Callable[[int, int], int]) -> None:
    """Fisher-Yates, from the end."""
    for last in range(len(amounts) - 1, 0, -1):
        other = pick(0, last)
        amounts[last], amounts[other] = amounts[other], amounts[last]


_ALGORITHMS: dict[Split, Callable[[Terms], Sequence[int]]] = {
    Split.EQUAL: _equal,
    Split.DOUBLE_MEAN: _double_mean,
}
