"""Terms that determine a packet's amounts, and their validation."""

from __future__ import annotations

import hashlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from enum import StrEnum

from redpacket.packets.errors import SplitImpossible
from redpacket.platform.errors import InvariantViolated

SEED_BYTES = 16
"""Bytes of a seed. A commitment to 128 random bits can't be reversed by brute force."""

COUNT_MAX = 1_000_000
"""Maximum shares of a campaign's packet."""

UNIT_FEN_MAX = 10_000
"""Maximum unit in fen: 100 yuan, the largest banknote."""

_CANONICAL_VERSION, _SEALED_VERSION = "rp1", "rs1"


class Split(StrEnum):
    """Split algorithms, with their names in the HTTP contract."""

    EQUAL = "equal"
    DOUBLE_MEAN = "double_mean"
    DOUBLE_MEAN_LIVE = "double_mean_live"
    BASE_DOUBLE_MEAN = "base_double_mean"
    BELL = "bell"
    CUT_POINTS = "cut_points"


@dataclass(frozen=True, slots=True)
class Terms:
    """Everything that decides a packet's amounts; fixed when the packet is created.

    *seed* is secret until the packet has ended. The commitment hashes `str(terms)`. Rows and caches
    hold `stored`, with *sealed* in place of *seed* (packets/model/seed_keys.py).
    """

    split: Split
    total_fen: int
    count: int
    share_fen_min: int
    share_fen_max: int
    unit_fen: int
    seed: bytes
    sealed: bytes = b""

    def __str__(self) -> str:
        self.check_open()
        return self._text(_CANONICAL_VERSION, self.seed)

    @property
    def stored(self) -> str:
        """Form for rows and caches; equals the canonical form if the seed was never sealed."""
        return self._text(_SEALED_VERSION, self.sealed) if self.sealed else str(self)

    @property
    def secret_version(self) -> int | None:
        """The version of the key that sealed the seed; None if the seed is not sealed."""
        return self.sealed[0] if self.sealed else None

    def check_open(self) -> None:
        """Raise InvariantViolated if the seed is sealed."""
        if not self.seed:
            raise InvariantViolated(
                f"the seed is sealed by key {self.secret_version}, which is not known here"
            )

    def _text(self, version: str, seed: bytes) -> str:
        return ",".join(
            (
                version,
                self.split,
                str(self.total_fen),
                str(self.count),
                str(self.share_fen_min),
                str(self.share_fen_max),
                str(self.unit_fen),
                _seed_text(seed),
            )
        )

    @classmethod
    def parse(cls, text: str) -> Terms:
        """Parse the canonical or the stored form. Raises ValueError."""
        version, *fields = text.split(",")
        if version not in {_CANONICAL_VERSION, _SEALED_VERSION}:
            raise ValueError(f"unknown form of terms: {version}")
        split, total, count, low, high, unit, seed_text = fields
        seed = seed_of(seed_text)
        if int(count) > COUNT_MAX:
            raise ValueError(f"terms of {count} shares")
        is_sealed = version == _SEALED_VERSION
        return cls(
            Split(split),
            int(total),
            int(count),
            int(low),
            int(high),
            int(unit),
            b"" if is_sealed else seed,
            seed if is_sealed else b"",
        )

    @property
    def seed_text(self) -> str:
        """The seed in base64url without padding, as in the canonical form and the proof."""
        return _seed_text(self.seed)

    @property
    def commitment(self) -> str:
        """SHA-256 of the canonical form in hex, published at the send. The proof must match it."""
        return hashlib.sha256(str(self).encode()).hexdigest()


def _seed_text(seed: bytes) -> str:
    return urlsafe_b64encode(seed).rstrip(b"=").decode()


def seed_of(text: str) -> bytes:
    """Parse `Terms.seed_text`. Raises ValueError."""
    return urlsafe_b64decode(text + "==")


@dataclass(frozen=True, slots=True)
class Units:
    """Terms in units of *unit_fen*; with the seed, the input of each random split."""

    total: int
    count: int
    low: int
    high: int


def units_of(terms: Terms) -> Units:
    """Return *terms* in units. Raises SplitImpossible, with the reason, if no split exists."""
    check_possible(terms)
    return _in_units(terms)


def check_possible(terms: Terms) -> None:
    """Raise SplitImpossible, with the reason, if no split satisfies *terms*."""
    if min(terms.total_fen, terms.count, terms.share_fen_min, terms.unit_fen) < 1:
        raise SplitImpossible("total_fen, count, share_fen_min and unit_fen must be at least 1")
    unit_fen, units = terms.unit_fen, _in_units(terms)
    if terms.total_fen % unit_fen:
        reason = f"total_fen is not divisible by unit_fen, {unit_fen}"
    elif units.total < units.count * units.low:
        low_fen = units.low * unit_fen
        reason = f"{terms.count} shares of at least {low_fen} fen exceed the total"
    elif terms.share_fen_min > terms.share_fen_max:
        reason = "share_fen_min exceeds share_fen_max"
    elif units.low > units.high:
        reason = f"no multiple of unit_fen, {unit_fen}, lies within the bounds of a share"
    elif units.total > units.count * units.high:
        high_fen = units.high * unit_fen
        reason = f"{terms.count} shares of at most {high_fen} fen can't reach the total"
    elif terms.split is Split.EQUAL and units.total % units.count:
        reason = f"total_fen is not divisible by {terms.count}"
        reason += f" in units of {unit_fen} fen" if unit_fen > 1 else ""
    else:
        return
    raise SplitImpossible(reason)


def default_share_fen_max(
    split: Split, *, total_fen: int, count: int, unit_fen: int, cap_fen: int
) -> int:
    """Return the default maximum share: the cap, or for a bell at most twice the mean."""
    if split is not Split.BELL:
        return cap_fen
    return min(cap_fen, -(-2 * total_fen // (count * unit_fen)) * unit_fen)


def _in_units(terms: Terms) -> Units:
    return Units(
        total=terms.total_fen // terms.unit_fen,
        count=terms.count,
        low=-(-terms.share_fen_min // terms.unit_fen),
        high=terms.share_fen_max // terms.unit_fen,
    )
