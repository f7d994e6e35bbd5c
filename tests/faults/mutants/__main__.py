"""Remove each safety condition, one at a time: the simulation or a test must notice every one.

Each mutant is a copy of the tree with one text replaced. What caught it the last time looks first
(`catchers.json`, which --write keeps), then the tests that share its words, then simulated
schedules, then all unit and contract tests (on the fakes and a real cache: no emulator). The
unchanged tree must pass all of them. A hunt in which something did not end or did not run has not
caught its mutant.

    python -m tests.faults.mutants [--only NAME] [--of packets|draws] [--by-simulation] [--every N]
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from queue import SimpleQueue

from tests.faults.mutants import MUTANTS
from tests.faults.mutants.hunt import (
    SCHEDULES,
    Copy,
    Outcome,
    Way,
    all_tests,
    simulated,
    ways_of,
)
from tests.faults.mutants.mutant import Mutant

CATCHERS = Path(__file__).with_name("catchers.json")
PROCESSES = 2


def main() -> int:
    """Hunt all mutants; print the figures as one line of JSON."""
    arguments = _arguments()
    chosen = [
        mutant
        for mutant in MUTANTS
        if arguments.only in mutant.name and arguments.of in {None, mutant.of}
    ][arguments.first :: arguments.every]
    catchers: dict[str, str] = json.loads(CATCHERS.read_text(encoding="utf-8"))
    began_at = time.monotonic()
    outcomes: Counter[Outcome] = Counter()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(PROCESSES) as pool:
        copies: SimpleQueue[Copy] = SimpleQueue()
        for number in range(PROCESSES):
            copies.put(Copy(Path(folder) / str(number)))

        def hunt(mutant: Mutant | None) -> tuple[Mutant | None, Outcome, str]:
            copy = copies.get()
            try:
                ways = _ways(mutant, chosen, catchers, by_simulation=arguments.by_simulation)
                return mutant, *copy.hunt(mutant, ways)
            finally:
                copies.put(copy)

        is_sound = True
        for done in as_completed([pool.submit(hunt, one) for one in [None, *chosen]]):
            mutant, outcome, what = done.result()
            if mutant:
                outcomes[outcome] += 1
                print(f"{outcome.value}: {mutant.name}: {what}", flush=True)
                if outcome is Outcome.CAUGHT:
                    catchers[mutant.name] = what
            elif outcome is not Outcome.SURVIVED:
                is_sound = False
                print(f"an unchanged tree is {outcome.value}: this run proves nothing: {what}")
    if arguments.write and is_sound:
        _write(catchers)
    seconds = round(time.monotonic() - began_at)
    figures = {outcome.name.lower(): outcomes[outcome] for outcome in Outcome}
    print(json.dumps({"mutants": len(chosen), **figures, "is_sound": is_sound, "seconds": seconds}))
    is_good = arguments.by_simulation or outcomes[Outcome.CAUGHT] == len(chosen)
    return 0 if is_sound and is_good else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="", metavar="NAME")
    parser.add_argument("--of", choices=SCHEDULES)
    parser.add_argument("--by-simulation", action="store_true", help="without the tests")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="each N-th of them alone")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="from the N-th on")
    parser.add_argument("--write", action="store_true", help="note who caught which")
    return parser.parse_args()


def _ways(
    mutant: Mutant | None,
    chosen: list[Mutant],
    catchers: dict[str, str],
    *,
    by_simulation: bool,
) -> Iterator[Way]:
    """Yield the ways to notice a mutant; for the unchanged tree, all that any mutant may meet."""
    if mutant is None:
        for of in sorted({one.of for one in chosen}):
            yield simulated(of)
        if not by_simulation:
            yield all_tests()
    elif by_simulation:
        yield simulated(mutant.of)
    else:
        yield from ways_of(mutant, catchers)


def _write(catchers: dict[str, str]) -> None:
    """Note who caught which, of the mutants that there are."""
    known = {mutant.name: catchers[mutant.name] for mutant in MUTANTS if mutant.name in catchers}
    CATCHERS.write_text(json.dumps(known, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    raise SystemExit(main())
