"""Difference between an expected and an actual value, as checks report it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Difference:
    """Violation of one rule: *rule* is the invariant's number, *subject* the packet or account."""

    rule: str
    subject: str
    what: str
    expected: int | str
    actual: int | str
