"""Do one thing to many items so that each fails by itself, until the time is up."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from redpacket.ports import Clock, Journal

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Attempts(Generic[Result]):
    """The results of what worked, and how many did not; the next sweep finds those again."""

    results: list[Result]
    failed_count: int


def attempt_each(
    items: Iterable[Item],
    do: Callable[[Item], Result],
    *,
    name: str,
    clock: Clock,
    journal: Journal,
    stop_at_ms: int,
    may_go_on: Callable[[], bool] = lambda: True,
) -> Attempts[Result]:
    """Call *do* with every item; journal failures under *name* and go on.

    The next sweep finds what is left where *may_go_on* says no.
    """
    results: list[Result] = []
    failed_count = 0
    for item in items:
        if not may_go_on():
            break
        if clock.now_ms() >= stop_at_ms:
            journal.event("sweep_out_of_time", step=name)
            break
        try:
            results.append(do(item))
        except Exception as error:  # noqa: BLE001 - one bad row must not keep others from refunds
            journal.failure(name, error, item=str(getattr(item, "packet_id", item)))
            failed_count += 1
    return Attempts(results, failed_count)
