"""Remove each safety condition, one at a time: the simulation or a test must notice every one.

Each mutant is a copy of the tree in which one function lacks one condition. First it plays
simulated schedules; what those don't notice, the unit and contract tests must (on the fakes and a
real cache: no emulator).

    python -m tests.faults.mutants [--only NAME] [--of packets|draws] [--by-simulation] [--every N]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.faults.mutants import MUTANTS
from tests.faults.mutants.mutant import ROOT, Mutant

SCHEDULES = {"packets": 200, "draws": 100}
TIMEOUT_S = 600

# They look at the tree and not at what the code does: test_mutants would catch every mutant.
_TESTS_OF_TEXTS = ("test_docs.py", "test_openapi.py", "test_mutants.py", "test_fairness_page.py")

_LEFT_OUT = (".git", ".local", ".aws-sam", "__pycache__", "integration")
"""Of the copy that a mutant is; what needs the deployed system can't run there."""


def hunt(mutant: Mutant, say: Callable[[str], None], *, by_simulation: bool = False) -> bool:
    """Tell whether *mutant* is noticed, perhaps *by_simulation* alone."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        shutil.copytree(
            ROOT,
            copy,
            symlinks=True,
            ignore=shutil.ignore_patterns(*_LEFT_OUT, *_TESTS_OF_TEXTS),
            dirs_exist_ok=True,
        )
        (copy / mutant.file).write_text(mutant.changed())
        for way, command in _ways(mutant.of)[: 1 if by_simulation else 2]:
            if not _passes(command, copy):
                say(f"caught by {way}: {mutant.name}")
                return True
    say(f"SURVIVED: {mutant.name}")
    return False


def _ways(of: str) -> list[tuple[str, list[str]]]:
    simulated = ["-m", "tests.faults.simulation", "--until-violation", "--of", of]
    simulated += ["--schedules", str(SCHEDULES[of])]
    tested = ["-m", "pytest", "-x", "-q", "tests/unit", "tests/contract"]
    tested += ["-k", "not emulator and not moto and not warm_path", "-m", "not deployed"]
    return [("the simulation", simulated), ("a test", tested)]


def _passes(command: list[str], folder: Path) -> bool:
    environment = {**os.environ, "PYTHONPATH": f"{folder / 'shared'}:{folder}"}
    try:
        done = subprocess.run(
            [sys.executable, *command],
            cwd=folder,
            env=environment,
            capture_output=True,
            timeout=TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def main() -> int:
    """Hunt all mutants; print the figures as one line of JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="", metavar="NAME")
    parser.add_argument("--of", choices=SCHEDULES)
    parser.add_argument("--by-simulation", action="store_true", help="without the tests")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="each N-th of them alone")
    arguments = parser.parse_args()
    chosen = [
        mutant
        for mutant in MUTANTS
        if arguments.only in mutant.name and arguments.of in {None, mutant.of}
    ][:: arguments.every]
    began_at = time.monotonic()
    for of in {mutant.of for mutant in chosen}:
        control = Mutant("nothing is changed", "HOLDS_ENOUGH", "HOLDS_ENOUGH", "HOLDS_ENOUGH", of)
        if hunt(control, print, by_simulation=arguments.by_simulation):
            print("an unchanged tree fails: this run proves nothing")
            return 1
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        caught = list(
            pool.map(
                lambda mutant: hunt(mutant, print, by_simulation=arguments.by_simulation), chosen
            )
        )
    seconds = round(time.monotonic() - began_at)
    print(json.dumps({"mutants": len(chosen), "caught": sum(caught), "seconds": seconds}))
    return 0 if arguments.by_simulation or all(caught) else 1


if __name__ == "__main__":
    raise SystemExit(main())
