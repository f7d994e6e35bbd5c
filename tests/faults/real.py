"""Real use cases on real processes that fail: caches, workers and queues. Every invariant must
hold.

Each suite also runs a naive control, which answers before the ledger has the claim, or checks and
acts in separate steps. A suite that does not detect the control's failure proves nothing.

python -m tests.faults.real [--only SUITE] [--quick] [--write]
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from tests.faults import figures as report
from tests.faults import real_cache, real_cluster, real_kill, real_money, real_queue
from tests.faults.figures import Figures

EVIDENCE = Path(__file__).parents[2] / "docs" / "evidence.md"


class Suite(Protocol):
    """Suite that adds its results to *figures*."""

    def __call__(self, figures: Figures, *, is_quick: bool) -> None: ...


SUITES: dict[str, Suite] = {
    "failover": real_cache.failover,
    "freeze": real_cache.freeze,
    "flush": real_cache.flush,
    "eviction": real_cache.eviction,
    "cluster": real_cluster.cluster,
    "kill": real_kill.kill,
    "queue": real_queue.queue,
    "refund": real_money.refund,
    "send": real_money.send,
}


def run_suite(name: str, *, is_quick: bool) -> Figures:
    """Run one suite and its control."""
    figures = Figures(name)
    began_at = time.monotonic()
    SUITES[name](figures, is_quick=is_quick)
    figures.seconds = time.monotonic() - began_at
    return figures


def main(say: Callable[[str], None] = print) -> int:
    """Run the suites; print their table, and the sums as one line of JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", choices=SUITES, action="append", help="a suite; may be repeated")
    parser.add_argument("--quick", action="store_true", help="as in CI: fewer of everything")
    parser.add_argument("--write", action="store_true", help=f"the table into {EVIDENCE.name}")
    arguments = parser.parse_args()
    if arguments.write and (arguments.only or arguments.quick):
        parser.error("only the whole goes into the evidence")
    done: list[Figures] = []
    for name in arguments.only or SUITES:
        done.append(run_suite(name, is_quick=arguments.quick))
        say(f"{' | '.join(done[-1].cells())}")
        for violation in done[-1].violations[:10]:
            say(f"  {violation}")
    text = report.table(done)
    say(f"\n{text}\n")
    if arguments.write:
        report.write(EVIDENCE, text)
    violations = sum(len(figures.violations) for figures in done)
    naive_failed = sum(figures.naive_violations > 0 for figures in done)
    seconds = round(sum(figures.seconds for figures in done), 1)
    runs = sum(figures.runs for figures in done)
    counts = {"suites": len(done), "runs": runs, "violations": violations}
    say(json.dumps({**counts, "naive_failed": naive_failed, "seconds": seconds}))
    return 1 if violations or naive_failed < len(done) else 0


if __name__ == "__main__":
    raise SystemExit(main())
