"""Shows that tests notice a random sample of changes to the code that decides about money.

    python -m tests.mutants --count 300 --seed 1

The last line is one JSON object. The command fails if an unchanged test fails, if more than one
mutant in twenty survives, or if the list of equivalent mutants names one that does not exist. A
mutant whose tests never end is caught: in CI, they would also be stopped.
"""

import argparse
import hashlib
import json
import random
import re
import sys
import tomllib
from collections import defaultdict
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

from local import places
from tests.mutants.children import CACHE, Job, Tests, run_all
from tests.mutants.generate import TEMPLATE, Mutant, list_mutants, read

EQUIVALENT = Path(__file__).parent / "equivalent.toml"
SURVIVING_MAX = 0.05
FIRST_FILES, FIRST_OF_FILE = 6, 10
"""Tests that run first, of the files with most of them: they catch most mutants."""
SECONDS_MAX = 20
"""The processor's time of a mutant's tests, the slowest left out: a survivor takes all of it."""
RECORD_S, SPARE_S, SLOWER = 3600, 30, 10
"""A child is killed after ten times what its tests took unchanged, and half a minute."""
OF_TEMPLATE = (
    "tests/template/test_template.py",
    "tests/template/test_rows.py",
    "tests/template/test_rights.py",
    "tests/contract/test_policies.py",
)
TOO_SLOW = "too slow"
_SOURCES = ("shared", "testing", "local")


class Covered:
    """The tests that run each line, and their seconds."""

    def __init__(self) -> None:
        self.tests: dict[tuple[str, int], list[str]] = defaultdict(list)
        self.seconds: dict[str, float] = {}

    def add(self, document: dict[str, Any]) -> None:
        """Add what was recorded of one file of tests."""
        self.seconds |= document["tests"]
        names = list(document["tests"])
        for path, lines in document["lines"].items():
            for line, numbers in lines.items():
                self.tests[path, int(line)] += [names[number] for number in numbers]

    def tests_of(self, mutant: Mutant) -> list[str]:
        """Return the tests of a mutant: a few of each file, then the others, the fastest first."""
        if mutant.path == TEMPLATE:
            chosen = {test for test in self.seconds if test.startswith(OF_TEMPLATE)}
        elif mutant.function == "(module)":
            chosen = self._naming(mutant)
        else:
            chosen = {test for line in mutant.lines for test in self.tests[mutant.path, line]}
            for line in range(mutant.lines.start, mutant.lines.start - 9, -1):
                # A line of a statement is counted where the statement begins.
                chosen = chosen or set(self.tests[mutant.path, line])
        total, by_file = 0.0, defaultdict[str, list[str]](list)
        for test in sorted(chosen, key=lambda test: self.seconds[test]):
            total += self.seconds[test]
            if total < SECONDS_MAX:
                by_file[test.partition("::")[0]].append(test)
        files = sorted(by_file.values(), key=len, reverse=True)
        first = [test for file in files[:FIRST_FILES] for test in file[:FIRST_OF_FILE]]
        return list(dict.fromkeys([*first, *(test for file in files for test in file)]))

    def _naming(self, mutant: Mutant) -> set[str]:
        """Return the tests of the lines that name a constant: it decides there."""
        lines = _lines_of(mutant.path)[: mutant.lines.start]
        matched = [match[1] for line in lines if (match := re.match(r"(\w+) = ", line))]
        return {
            test
            for (path, number), tests in self.tests.items()
            if "/dynamodb/" in path and matched[-1] in _lines_of(path)[number - 1]
            for test in tests
        }


@cache
def _lines_of(path: str) -> list[str]:
    return read(path).decode().splitlines()


def read_records(tests: Tests, processes: int) -> Covered:
    """Return which tests run which lines; only what changed is run again."""
    files: dict[str, list[str]] = defaultdict(list)
    for test in tests.items:
        files[test.partition("::")[0]].append(test)
    code = hashlib.sha256()
    for path in sorted(path for name in _SOURCES for path in (places.ROOT / name).rglob("*.py")):
        code.update(path.read_bytes())
    records: dict[Path, list[str]] = {}
    for file, lines in files.items():
        own = code.copy()
        own.update((places.ROOT / file).read_bytes())
        records[CACHE / f"{own.hexdigest()[:32]}.record"] = lines
    missing = [path for path in records if not path.exists()]
    jobs: list[Job] = [(partial(tests.record, records[path]), RECORD_S) for path in missing]
    for done, (number, answer) in enumerate(run_all(jobs, processes), 1):
        (told,) = answer or [{"failed": records[missing[number]]}]
        if told["failed"]:
            pytest.exit(f"an unchanged test fails: {told['failed']}", 1)
        missing[number].write_text(json.dumps(told))
        _tell(f"{done} of {len(jobs)} files of tests are recorded")
    covered = Covered()
    for path in records:
        covered.add(json.loads(path.read_text()))
    return covered


def run_mutants(
    mutants: list[Mutant], tests: Tests, covered: Covered, processes: int
) -> dict[str, str | None]:
    """Return by each mutant's name the test that catches it, or TOO_SLOW."""
    told: dict[str, str | None] = {mutant.name: None for mutant in mutants}
    jobs: dict[str, Job] = {}
    for mutant in mutants:
        if chosen := covered.tests_of(mutant):
            limit_s = SPARE_S + SLOWER * sum(covered.seconds[test] for test in chosen)
            jobs[mutant.name] = partial(tests.first_failure, chosen, mutant), limit_s
    for done, (number, result) in enumerate(run_all(list(jobs.values()), processes), 1):
        name = list(jobs)[number]
        (told[name],) = result or [TOO_SLOW]
        _tell(f"{done} of {len(jobs)}: {told[name]} <- {name}")
    return told


def main() -> int:
    """Draw a sample, run it, and tell what survived."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--only", default="", help="a regular expression for the names")
    options = parser.parse_args()

    listed = tomllib.loads(EQUIVALENT.read_text())["equivalent"]
    explained = {each["mutant"] for each in listed if each["reason"]}
    mutants = list_mutants()
    if gone := explained - {mutant.name for mutant in mutants}:
        sys.exit(f"{EQUIVALENT.name} names what is no mutant: {sorted(gone)}")
    mutants = [mutant for mutant in mutants if re.search(options.only, mutant.name)]
    sample = random.Random(options.seed).sample(mutants, min(options.count, len(mutants)))
    return Tests(partial(judge, sample, explained, options.processes)).run()


def judge(sample: list[Mutant], explained: set[str], processes: int, tests: Tests) -> int:
    """Run the mutants of a sample that are not known to be equivalent, and print what survived."""
    real = [mutant for mutant in sample if mutant.name not in explained]
    covered = read_records(tests, processes)
    told = run_mutants(real, tests, covered, processes)
    catchers = sorted({by for by in told.values() if by in covered.seconds})
    ((_, control),) = run_all([(partial(tests.first_failure, catchers, None), RECORD_S)], 1)
    if control != [None]:
        pytest.exit(f"an unchanged test fails: {control}", 1)

    survived = [name for name, by in told.items() if by is None]
    slow = [name for name, by in told.items() if by == TOO_SLOW]
    figures = {
        "mutants": len(sample),
        "caught": len(real) - len(survived),
        "equivalent": len(sample) - len(real),
        "timed_out": slow,
        "survived": survived,
    }
    print(json.dumps(figures, ensure_ascii=False))
    return int(len(survived) > len(sample) * SURVIVING_MAX)


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
