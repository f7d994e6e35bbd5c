"""Virtual time: many flows run concurrently in one thread, and their waits take no real time.

Each flow is a greenlet that sleeps when a real flow would wait for the network. The flow that is
due first runs next, so runs are deterministic, and a virtual hour takes a few seconds.
"""

from collections.abc import Callable, Iterable
from functools import partial
from heapq import heappop, heappush
from itertools import count
from typing import TypeVar

from greenlet import getcurrent, greenlet

Item = TypeVar("Item")
Result = TypeVar("Result")


class VirtualTime:
    """Clock and scheduler of concurrent flows."""

    def __init__(self, starts_at_ms: int) -> None:
        self.now_s = 0.0
        self._starts_at_ms = starts_at_ms
        self._hub = getcurrent()
        self._due: list[tuple[float, int, greenlet]] = []
        self._numbers = count()

    def now_ms(self) -> int:
        """Return the time, like a Clock."""
        return self._starts_at_ms + int(self.now_s * 1000)

    def sleep_ms(self, duration_ms: int) -> None:
        """Sleep, like a Clock."""
        self.sleep_s(duration_ms / 1000)

    def sleep_s(self, duration_s: float) -> None:
        """Run other flows until *duration_s* have passed."""
        self._wake(getcurrent(), duration_s)
        self._hub.switch()

    def spawn(self, do: Callable[[], None]) -> None:
        """Start *do* as another concurrent flow."""
        self._wake(greenlet(do, self._hub))

    def run(self) -> None:
        """Run until no flow is left. Errors of the flows propagate from here."""
        while self._due:
            self.now_s, _, runner = heappop(self._due)
            runner.switch()

    def in_parallel(self, do: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """Call *do* for several items concurrently. Return the results in order.

        If calls fail, raises the first error after all calls have ended.
        """
        pending = list(items)
        caller = getcurrent()
        results: dict[int, Result] = {}
        errors: list[Exception] = []

        def run(number: int) -> None:
            try:
                results[number] = do(pending[number])
            except Exception as error:  # noqa: BLE001 - raised in the caller's flow
                errors.append(error)
            if len(results) + len(errors) == len(pending):
                self._wake(caller)

        if not pending:
            return []
        for number in range(len(pending)):
            self.spawn(partial(run, number))
        self._hub.switch()
        if errors:
            raise errors[0]
        return [results[number] for number in range(len(pending))]

    def _wake(self, runner: greenlet, in_s: float = 0.0) -> None:
        heappush(self._due, (self.now_s + in_s, next(self._numbers), runner))
