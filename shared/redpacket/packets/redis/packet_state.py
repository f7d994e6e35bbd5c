"""Encoding of a packet's constants: the head, a part of the packet's state (lua/lib/state.lua).

A MAC over the key and the constants prevents an attacker with write access to the cache from
changing rules or amounts.
"""

from __future__ import annotations

from functools import lru_cache

from redpacket.packets.model.seed_keys import SeedKeys
from redpacket.packets.split import Split, Terms, seed_of

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
"""Numbers of base-36 digits, enough for 89 years in milliseconds and for 1,679,615 shares."""
OPENS_MS_MAX = 36**_OPENS - 1
"""Value of *opens_ms* that opens a packet immediately, because no key lives longer."""
_TERMS_AT = _OPENS + _COUNT
_MAC = 11

_HEADS_KEPT = 256


class PacketHeads:
    """Writer and reader of state heads, whose MAC only holders of the seed keys can compute."""

    def __init__(self, seeds: SeedKeys) -> None:
        self._seeds = seeds
        # Cache heads, because all users of a packet need the same head.
        self._read = lru_cache(maxsize=_HEADS_KEPT)(self._read_head)

    def write(self, key: str, terms: Terms, count: int, opens_ms: int, marks: str) -> str:
        """Encode the constants as `write_head` does, and add the MAC."""
        head = write_head(terms, count, opens_ms, marks)
        mac = self._seeds.sign(f"{key}\n{head}")
        return f"{head[:_TERMS_AT]}{mac}{head[_TERMS_AT:]}"

    def read(self, key: str, state: str) -> tuple[str, str] | None:
        """Return a state's stored terms and its marks, or None if no loader wrote the state."""
        return self._read(key, state[1:].partition("|")[0])

    def _read_head(self, key: str, told: str) -> tuple[str, str] | None:
        # The scripts write the proof, which starts with "@" or "*" (lua/lib/state.lua).
        proof = told[len(told.partition("@")[0].rstrip("*")) :]
        mac = told[_TERMS_AT : _TERMS_AT + _MAC]
        head = told[:_TERMS_AT] + told[_TERMS_AT + _MAC : len(told) - len(proof)]
        is_known = head[_TERMS_AT : _TERMS_AT + 1].lower() in _SPLITS
        if not is_known or not self._seeds.has_signed(f"{key}\n{head}", mac):
            return None
        terms, marks = read_head(head)
        return terms, marks + proof


def write_head(terms: Terms, count: int, opens_ms: int, marks: str) -> str:
    """Encode the constants without a MAC: opening time, share count, terms and *marks*.

    The terms are a letter (uppercase if the seed is sealed), seed, total, maximum, minimum, unit,
    and the packet's count, which differs from a shard's *count*. The last three are omitted if they
    have their defaults: 1 fen, 1 fen and *count*.
    """
    numbers = [_base36(terms.total_fen), _base36(terms.share_fen_max)]
    usual = ((terms.share_fen_min, 1), (terms.unit_fen, 1), (terms.count, count))
    numbers += ["" if number == default else _base36(number) for number, default in usual]
    window_and_count = _base36(opens_ms).rjust(_OPENS, "0") + _base36(count).rjust(_COUNT, "0")
    letter, seed_text = _LETTERS[terms.split], terms.stored.rpartition(",")[2]
    letter = letter.upper() if terms.sealed else letter
    packed = f"{letter}{seed_text},{','.join(numbers).rstrip(',')}"
    return f"{window_and_count}{packed}{marks}"


def read_head(head: str) -> tuple[str, str]:
    """Return the terms in stored form, and the marks, from the output of `write_head`."""
    count, packed = int(head[_OPENS:_TERMS_AT], 36), head[_TERMS_AT:]
    plain = packed.rstrip("!?")
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
