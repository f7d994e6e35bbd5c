"""How fast one subject may do one thing: so many at once, then so many a minute."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limit:
    """*burst* at once, and one more every 60 s / *per_minute*: the generic cell rate algorithm."""

    name: str
    per_minute: int
    burst: int

    @property
    def interval_ms(self) -> int:
        """The time that one takes; rounded up, so that no minute holds more than it should."""
        return -(-60_000 // self.per_minute)


PASSPHRASE_TRIES = Limit("passphrase", per_minute=1, burst=5)
"""Tries of one user at one packet's passphrase (口令); the subject is `passphrase_subject`.

Enough for a misheard word, and too few to guess: 1,445 a day.
"""


def send_limit(per_minute: int, burst: int) -> Limit:
    """Return the limit of one user's sends; the subject is the user's id."""
    return Limit("send", per_minute, burst)


def draw_limit(per_minute: int, burst: int) -> Limit:
    """Return the limit of one user's draws; the subject is the user's id."""
    return Limit("draw", per_minute, burst)


def read_limit(per_minute: int, burst: int) -> Limit:
    """Return the limit of one user's reads; the subject is the user's id."""
    return Limit("read", per_minute, burst)


def grab_limit(per_minute: int, burst: int) -> Limit:
    """Return the limit of one user's grabs that make the ledger read; the subject is their id."""
    return Limit("grab", per_minute, burst)


def passphrase_subject(user_id: str, packet_id: str) -> str:
    """Name who tries at what."""
    return f"{user_id}:{packet_id}"
