"""What every flow may need of its process: time, a journal, threads, spans of a trace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    # Each flow and adapter imports this page; none needs the words of all the others.
    from collections.abc import Callable, Mapping, Sequence
    from types import TracebackType
    from typing import Self


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


class Span:
    """One call outside, as a trace shows it. This one keeps nothing."""

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End, perhaps by an error."""

    def retry(self) -> None:
        """Note that the call is tried once more."""


class Spans:
    """Where calls outside are noted for a trace. This one notes none, and costs next to nothing."""

    _none = Span()

    def aws(self, service: str, operation: str, arguments: Mapping[str, Any]) -> Span:  # noqa: ARG002
        """Return the span of a call to AWS; of *arguments* only tables and queues are kept."""
        return self._none

    def remote(self, name: str, operation: str) -> Span:  # noqa: ARG002
        """Return the span of a call to the cache, or to a host."""
        return self._none

    def carried(self, do: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Return *do* so that its calls belong to what is open here, on any thread."""
        return do

    def failed(self, error: BaseException) -> None:
        """Note an error that ends as an answer."""


spans = Spans()
"""This process' own. Where a function is traced, edge/traces.py puts others here."""
