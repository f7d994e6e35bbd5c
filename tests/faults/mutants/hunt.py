"""The hunt for one mutant: a copy of the tree with one text replaced, and ways to notice it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from tests.faults.mutants.likely import TESTS_OF_TEXTS, likely_tests
from tests.faults.mutants.mutant import ROOT, Mutant

SCHEDULES = {"packets": 200, "draws": 100, "payments": 60}
SIMULATION = "the simulation"

_LEFT_OUT = (".*", "__pycache__", "dist", "integration", "node_modules")
"""Of the copy that a mutant is: what the tests don't need there."""

_IN_A_COPY = ("-k", "not moto", "-m", "not emulated")
"""Tests that can run in a copy, which has no emulator, and that are not slow for nothing."""

_FAILED = re.compile(r"^FAILED (tests/[^\s\[]+)", re.MULTILINE)


class Outcome(Enum):
    """What came of a hunt. Only CAUGHT is good: a test failed.

    TIMED_OUT had no failing test, and a way that did not end. NOT_RUN had a way in which no test
    could run.
    """

    CAUGHT = "caught"
    SURVIVED = "SURVIVED"
    TIMED_OUT = "TIMED OUT"
    NOT_RUN = "NOT RUN"


@dataclass(frozen=True, slots=True)
class Way:
    """A command that may notice a mutant."""

    name: str
    command: tuple[str, ...]
    timeout_s: int

    def run(self, folder: Path) -> tuple[Outcome, str]:
        """Run it in a copy; return what came of it, and the test that failed or what was said."""
        environment = {**os.environ, "PYTHONPATH": f"{folder / 'shared'}:{folder}"}
        environment.pop("PYTHONPYCACHEPREFIX", None)
        try:
            done = subprocess.run(
                [sys.executable, *self.command],
                cwd=folder,
                env=environment,
                capture_output=True,
                text=True,
                timeout=self.timeout_s,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Outcome.TIMED_OUT, f"{self.name} did not end in {self.timeout_s} s"
        # Of pytest 1 means that a test failed; more, that tests could not be collected or run.
        if done.returncode > 1 or done.returncode < 0:
            return Outcome.NOT_RUN, (done.stdout + done.stderr)[-2_000:]
        if done.returncode == 0:
            return Outcome.SURVIVED, ""
        failed = _FAILED.search(done.stdout)
        return Outcome.CAUGHT, failed[1] if failed else self.name


@dataclass
class Copy:
    """A copy of the tree, which is one mutant after the other."""

    folder: Path
    changes: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        """Copy the tree; the tools that tests start, SAM among them, are those of the tree."""
        ignored = shutil.ignore_patterns(*_LEFT_OUT, *TESTS_OF_TEXTS)
        shutil.copytree(ROOT, self.folder, symlinks=True, ignore=ignored, dirs_exist_ok=True)
        (self.folder / ".local").mkdir()
        (self.folder / ".local" / "venv").symlink_to(ROOT / ".local" / "venv")

    def hunt(self, mutant: Mutant | None, ways: Iterator[Way]) -> tuple[Outcome, str]:
        """Return what came of a mutant, or of the unchanged tree, and who caught it."""
        before = (self.folder / mutant.file).read_text(encoding="utf-8") if mutant else ""
        if mutant:
            self._write(mutant.file, mutant.changed())
        try:
            missed, why = Outcome.SURVIVED, ""
            for way in ways:
                outcome, what = way.run(self.folder)
                if outcome is Outcome.CAUGHT:
                    return outcome, what
                if outcome is not Outcome.SURVIVED:
                    missed, why = outcome, what
            return missed, why
        finally:
            if mutant:
                self._write(mutant.file, before)

    def _write(self, file: Path, text: str) -> None:
        """Write a file; Python takes its compiled form for old by its time, which is a new one."""
        (self.folder / file).write_text(text, encoding="utf-8")
        self.changes += 1
        os.utime(self.folder / file, (self.changes, self.changes))


def ways_of(mutant: Mutant, catchers: Mapping[str, str]) -> Iterator[Way]:
    """Yield the ways to notice a mutant, what caught it the last time first, then the likeliest."""
    catcher = catchers.get(mutant.name, "")
    if catcher == SIMULATION:
        yield simulated(mutant.of)
    elif catcher and (ROOT / catcher.partition("::")[0]).is_file():
        yield _tested("the test that caught it", (catcher,), 240)
    yield _tested("a likely test", tuple(likely_tests(mutant)), 300)
    if catcher != SIMULATION:
        yield simulated(mutant.of)
    yield all_tests()


def simulated(of: str) -> Way:
    command = ("-m", "tests.faults.simulation", "--until-violation", "--of", of)
    return Way(SIMULATION, (*command, "--schedules", str(SCHEDULES[of])), 600)


def all_tests() -> Way:
    return _tested("a test", ("tests/unit", "tests/contract"), 1_800)


def _tested(name: str, tests: tuple[str, ...], timeout_s: int) -> Way:
    return Way(name, ("-m", "pytest", "-x", "-q", *tests, *_IN_A_COPY), timeout_s)
