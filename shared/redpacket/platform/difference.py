"""Difference between an expected and an actual value, as checks report it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Difference:
    """Violation of *rule*, such as an invariant's number, by *subject*, such as a packet."""

    rule: str
    subject: str
    what: str
    expected: int | str
    actual: int | str
