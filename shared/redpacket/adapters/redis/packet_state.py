"""What a packet's hash in the cache says of the packet itself, in as few bytes as will do.

The scripts know the letter before it, and the tail after it (lua/lib/state.lua).
"""

from __future__ import annotations

from functools import lru_cache

from redpacket.domain.split import Split, Terms, seed_of

_LETTERS = {
    Split.EQUAL: "e",
    Split.DOUBLE_MEAN: "d",
    Split.DOUBLE_MEAN_LIVE: "l",
    Split.BASE_DOUBLE_MEAN: "b",
    Split.BELL: "g",  # Gauss
    Split.CUT_POINTS: "c",
}
_SPLITS = {letter: split for split, letter in _LETTERS.items()}

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_OPENS, _COUNT = 8, 4
"""Digits: of milliseconds enough for 89 years, of shares for 1,679,615."""


def write_head(terms: Terms, count: int, opens_ms: int, marks: str) -> str:
    """Write what never changes: when the packet opens, its count, its terms and *marks*.

    The terms are a letter, a capital where the seed is sealed, the seed, total, bounds, unit and
    their own count, another one where this is a part. Of the last three the usual ones are left
    out: 1 fen, 1 fen, *count*.
    """
    numbers = [_base36(terms.total_fen), _base36(terms.share_fen_max)]
    usual = ((terms.share_fen_min, 1), (terms.unit_fen, 1), (terms.count, count))
    numbers += ["" if number == default else _base36(number) for number, default in usual]
    window_and_count = _base36(opens_ms).rjust(_OPENS, "0") + _base36(count).rjust(_COUNT, "0")
    letter, seed_text = _LETTERS[terms.split], terms.stored.rpartition(",")[2]
    letter = letter.upper() if terms.sealed else letter
    packed = f"{letter}{seed_text},{','.join(numbers).rstrip(',')}"
    return f"{window_and_count}{packed}{marks}"


def read_terms(state: str) -> tuple[str, str]:
    """Return a state's terms in their stored form, and their marks."""
    return _read_head(state[1:].partition("|")[0])


@lru_cache(maxsize=256)
def _read_head(head: str) -> tuple[str, str]:
    # A packet's head is the same for all of its crowd.
    count, packed = int(head[_OPENS : _OPENS + _COUNT], 36), head[_OPENS + _COUNT :]
    # A sign that the hash has every taker is the scripts' (lua/lib/state.lua).
    plain = packed.partition("@")[0].rstrip("!?*")
    seed_text, total, high, *rest = plain[1:].split(",")
    seed, is_sealed = seed_of(seed_text), plain[0].isupper()
    low, unit, own_count = [*rest, "", "", ""][:3]
    terms = Terms(
        split=_SPLITS[plain[0].lower()],
        total_fen=int(total, 36),
        count=int(own_count, 36) if own_count else count,
        share_fen_min=int(low or "1", 36),
        share_fen_max=int(high, 36),
        unit_fen=int(unit or "1", 36),
        seed=b"" if is_sealed else seed,
        sealed=seed if is_sealed else b"",
    )
    return terms.stored, packed[len(plain) :]


def _base36(number: int) -> str:
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = _DIGITS[digit] + digits
    return digits or "0"
