"""Time-limited runner for independent items; one item's failure does not stop the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from redpacket.platform.runtime import Clock, EventLogger, InParallel

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Attempts(Generic[Result]):
    """Results of the successful items, and the number of failed items."""

    results: list[Result]
    failed_count: int


def attempt_lanes(
    lanes: Sequence[Iterable[Item]],
    do: Callable[[Item], Result],
    *,
    name: str,
    clock: Clock,
    logger: EventLogger,
    stop_at_ms: int,
    in_parallel: InParallel,
    should_continue: Callable[[], bool] = lambda: True,
) -> Attempts[Result]:
    """Call *do* for each item until *stop_at_ms*, or until *should_continue* returns False.

    Lanes run in parallel, the items in a lane in sequence. The next sweep finds the items that
    failed or were not reached.
    """

    def attempt(lane: Iterable[Item]) -> tuple[Attempts[Result], bool]:
        results: list[Result] = []
        failed_count = 0
        for item in lane:
            if not should_continue():
                break
            if clock.now_ms() >= stop_at_ms:
                return Attempts(results, failed_count), True
            try:
                results.append(do(item))
            except Exception as error:  # noqa: BLE001 - one bad item must not block the others
                logger.failure(name, error, item=_name(item))
                failed_count += 1
        return Attempts(results, failed_count), False

    tried: list[tuple[Attempts[Result], bool]] = in_parallel(attempt, lanes)
    if any(is_out_of_time for _, is_out_of_time in tried):
        logger.event("sweep_out_of_time", step=name)
    return Attempts(
        [result for attempts, _ in tried for result in attempts.results],
        sum(attempts.failed_count for attempts, _ in tried),
    )


def _name(item: object) -> str:
    subject = getattr(item, "packet", item)
    return str(getattr(subject, "packet_id", subject))
