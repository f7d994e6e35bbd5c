"""What every flow may need of its process: time, a journal, threads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    # Each flow and adapter imports this page; none needs the words of all the others.
    from collections.abc import Callable, Sequence


class InParallel(Protocol):
    """Runs a function on items side by side; returns the results in order, or raises an error."""

    def __call__(self, do: Callable[[Any], Any], items: Sequence[Any], /) -> list[Any]:
        """Return `do(item)` of every item."""


class Clock(Protocol):
    """Time, as a parameter."""

    def now_ms(self) -> int:
        """Return the time since the epoch."""

    def sleep_ms(self, duration_ms: int) -> None:
        """Wait."""


class Journal(Protocol):
    """Tells operators what happened; never fails a flow."""

    def event(self, name: str, **details: str | int) -> None:
        """Note something that ran as designed but not as usual, and count it."""

    def failure(self, name: str, error: Exception, **details: str | int) -> None:
        """Note an error that was survived here and is repaired later."""
