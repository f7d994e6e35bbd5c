"""Deterministic simulation: the real use cases, interleaved at every I/O, under heavy faults.

Each seed is one schedule: it decides which part runs next, which call fails, and when the cache
loses data and the clock jumps. Then the faults stop, the sweep and the queue get enough time, and
every invariant must hold. The naive control answers before the ledger has the claim, as the usual
design does, and must fail. For every five schedules of packets, one of a lottery (`draws`) and one
of `payments` run; --of runs one kind.

python -m tests.faults.simulation --schedules 5000 --seed 1 [--of draws]
"""

import argparse
import json
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from redpacket.platform.difference import Difference
from tests.faults.draws import DrawSchedule
from tests.faults.packets import PacketSchedule
from tests.faults.payments import PaymentSchedule
from tests.faults.schedule import Schedule

_CHUNK = 100


@dataclass
class Result:
    """Figures of many schedules."""

    schedules: int = 0
    steps: int = 0
    faults: int = 0
    violations: int = 0
    events: Counter[str] = field(default_factory=Counter)
    seen: Counter[str] = field(default_factory=Counter)
    first_seed: int | None = None
    first_differences: list[Difference] = field(default_factory=list)


PACKETS, DRAWS, PAYMENTS = "packets", "draws", "payments"
KINDS: dict[str, type[Schedule]] = {
    PACKETS: PacketSchedule,
    DRAWS: DrawSchedule,
    PAYMENTS: PaymentSchedule,
}

MANY = 100
"""Number of schedules after which each check must have seen an item."""

_SUMMED = ("schedules", "steps", "faults", "violations", "seconds")


def run_schedules(
    count: int,
    seed: int,
    *,
    of: str = PACKETS,
    is_naive: bool = False,
    until_violation: bool = False,
    look: Callable[[Schedule], object] = bool,
) -> Result:
    """Run *count* schedules with consecutive seeds, or stop at the first violation if
    *until_violation*; pass each to *look*.
    """
    result = Result()
    for number in range(seed, seed + count):
        schedule = KINDS[of](number, is_naive)
        try:
            differences = schedule.run()
        except Exception as error:
            error.add_note(f"seed {number} of {of}")
            raise
        look(schedule)
        result.schedules += 1
        result.steps += schedule.steps
        result.faults += schedule.faults.count
        result.seen.update(schedule.seen)
        result.events.update(schedule.system.logger.events)
        result.events.update(name for name, _ in schedule.system.logger.errors)
        if differences:
            result.violations += 1
            if result.first_seed is None:
                result.first_seed, result.first_differences = number, differences
            if until_violation:
                break
    return result


def run_on_all_cores(count: int, seed: int, *, of: str, is_naive: bool = False) -> Result:
    """Run *count* schedules in one process per core; the result is the same as in one process."""
    total = Result()
    starts = range(seed, seed + count, _CHUNK)
    sizes = [min(_CHUNK, seed + count - start) for start in starts]
    with ProcessPoolExecutor() as pool:
        run = partial(run_schedules, of=of, is_naive=is_naive)
        for part in pool.map(run, sizes, starts):
            total.schedules += part.schedules
            total.steps += part.steps
            total.faults += part.faults
            total.violations += part.violations
            total.events.update(part.events)
            total.seen.update(part.seen)
            if total.first_seed is None:
                total.first_seed = part.first_seed
                total.first_differences = part.first_differences
    return total


def main() -> int:
    """Run the simulation and its naive control; print the figures as one line of JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--schedules", type=int, default=5_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--of", choices=KINDS)
    parser.add_argument(
        "--until-violation", action="store_true", help="stop there, and leave out the control"
    )
    arguments = parser.parse_args()
    counts = dict.fromkeys(KINDS, arguments.schedules // 5) | {PACKETS: arguments.schedules}
    if arguments.of:
        counts = {arguments.of: arguments.schedules}
    has_control = not arguments.until_violation
    figures = {
        of: _figures(of, count, arguments.seed, has_control=has_control)
        for of, count in counts.items()
        if count
    }
    total = {name: sum(figure[name] for figure in figures.values()) for name in _SUMMED}
    # The control of each kind must fail.
    naive_rate = min(figure["naive_violation_rate"] for figure in figures.values())
    blind = sorted({name for figure in figures.values() for name in figure["blind"]})
    summary = {**total, "naive_violation_rate": naive_rate, "blind": blind, "seed": arguments.seed}
    print(json.dumps({**summary, **figures}))
    return 1 if total["violations"] or blind or (has_control and naive_rate <= 0.5) else 0


def _figures(of: str, count: int, seed: int, *, has_control: bool) -> dict[str, Any]:
    began_at = time.monotonic()
    # Only a sequential run can stop at the first violation.
    run = run_on_all_cores if has_control else partial(run_schedules, until_violation=True)
    real = run(count, seed, of=of)
    naive_count = min(200, count) if has_control else 0
    naive = run_on_all_cores(naive_count, seed, of=of, is_naive=True)
    if real.first_seed is not None:
        print(f"first violation with --of {of} --schedules 1 --seed {real.first_seed}:")
        for difference in real.first_differences:
            print(f"  {difference}")
    print(f"what the flows met in schedules of {of}:", dict(real.events.most_common()))
    print(f"what the checks saw in schedules of {of}:", dict(real.seen.most_common()))
    return {
        "schedules": real.schedules,
        "steps": real.steps,
        "faults": real.faults,
        "violations": real.violations,
        "naive_violation_rate": round(naive.violations / max(1, naive_count), 3),
        "blind": blind_checks(of, real.seen) if real.schedules >= MANY else [],
        "seconds": round(time.monotonic() - began_at, 1),
    }


def blind_checks(of: str, seen: Counter[str]) -> list[str]:
    """Return the checks that saw no item, because they prove nothing."""
    return sorted(name for name in KINDS[of].MUST_SEE if not seen[name])


if __name__ == "__main__":
    raise SystemExit(main())
