"""Runs of pytest in forked children: one import of the libraries serves all of them."""

from __future__ import annotations

import contextlib
import gc
import io
import json
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any

import pytest
from coverage import Coverage

from local import places
from tests.mutants.generate import MODULES, TEMPLATE, Mutant

FOLDERS = ("tests/unit", "tests/contract", "tests/property", "tests/template/test_template.py")
_OF_NO_MONEY = (  # texts, figures, the command, the gateways' wires, and Lua
    "tests/unit/cli tests/unit/test_bench* tests/unit/test_cost* tests/unit/test_capacity*"
    " tests/unit/test_docs* tests/unit/test_makefile* tests/unit/test_openapi*"
    " tests/unit/test_release* tests/unit/test_report* tests/contract/test_payments_*"
    " tests/contract/test_*lua* tests/contract/test_*tls* tests/contract/test_cold*"
    " tests/contract/test_drand* tests/contract/test_cluster*"
)
CACHE = places.LOCAL / "cache" / "mutants"
_OPTIONS = (
    *("--quiet", "-o", f"cache_dir={CACHE / 'pytest'}"),
    *(f"--ignore-glob={places.ROOT / pattern}" for pattern in _OF_NO_MONEY.split()),
)
_WALL_PER_CPU = 10
"""How long a child may take, as a multiple of its processor's time: the machine may be busy."""

Job = tuple[Callable[[], Any], float]
"""What a child returns, and for how many seconds of its processor it may run."""


class _Chosen:
    """Runs these tests in this order, all where none are named, and notes them."""

    def __init__(self, tests: Iterable[str] = ()) -> None:
        self.place = {test: place for place, test in enumerate(tests)}
        self.seconds: dict[str, float] = {}
        self.failed: str | None = None
        self.coverage: Coverage | None = None

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if not self.place:
            items[:] = [item for item in items if _runs_here(item)]
            self.place = {item.nodeid: place for place, item in enumerate(items)}
        items[:] = [item for item in items if item.nodeid in self.place]
        items.sort(key=lambda item: self.place[item.nodeid])

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        if self.coverage:
            if not self.seconds:  # the imports are over
                self.coverage.start()
            self.coverage.switch_context(item.nodeid)
        start = time.process_time()
        result = yield
        self.seconds[item.nodeid] = round(time.process_time() - start, 4)
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.failed:
            self.failed = report.nodeid


def _runs_here(item: pytest.Item) -> bool:
    """Say whether a test needs neither the emulator nor moto."""
    kinds = item.callspec.params.values() if hasattr(item, "callspec") else ()
    return not {mark.name for mark in item.iter_markers()} & {"emulated", "alone"} and (
        "moto" not in kinds
    )


def prepare() -> list[str]:
    """Import everything once, forget the project's own modules, and return the files of tests."""
    chosen = _Chosen()
    with contextlib.redirect_stdout(io.StringIO()) as told:
        status = pytest.main(["--collect-only", *_OPTIONS, *FOLDERS], plugins=[chosen])
    if status:
        sys.exit(f"the unchanged tests can't be collected:\n{told.getvalue()}")
    for name in [name for name, module in sys.modules.items() if _is_ours(name, module)]:
        del sys.modules[name]
    gc.collect()
    gc.freeze()
    return sorted({test.partition("::")[0] for test in chosen.place})


def _is_ours(name: str, module: Any) -> bool:
    homes = [getattr(module, "__file__", None) or "", *getattr(module, "__path__", ())]
    is_here = any(home.startswith(f"{places.ROOT}/") and "/.local/" not in home for home in homes)
    return is_here and not name.startswith(("tests.mutants", "__main__"))


def run_all(jobs: list[Job], processes: int) -> Iterator[tuple[int, list[Any] | None]]:
    """Yield each job's number and result in a list; None if it was killed."""
    CACHE.mkdir(parents=True, exist_ok=True)
    running: dict[int, int] = {}
    waiting = list(enumerate(jobs))[::-1]
    while waiting or running:
        while waiting and len(running) < processes:
            number, job = waiting.pop()
            running[_fork(job, _answer(number))] = number
        pid, _ = os.wait()
        number = running.pop(pid)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)  # servers that it left behind
        answer = _answer(number)
        yield number, json.loads(answer.read_text()) if answer.exists() else None
        answer.unlink(missing_ok=True)


def _answer(number: int) -> Path:
    return CACHE / f"{os.getpid()}-{number}.json"


def _fork(job: Job, answer: Path) -> int:
    run, seconds = job
    sys.stdout.flush()
    if pid := os.fork():
        return pid
    os.setpgid(0, 0)
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds)))
    signal.alarm(int(seconds * _WALL_PER_CPU))
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    import hypothesis  # not before pytest, which rewrites its assertions

    hypothesis.settings.register_profile("mutants", database=None, derandomize=True)
    hypothesis.settings.load_profile("mutants")
    partial = answer.with_suffix(".part")
    partial.write_text(json.dumps([run()]))
    partial.rename(answer)
    os._exit(0)


def first_failure(tests: list[str], mutant: Mutant | None) -> str | None:
    """Run tests in this order, and return the first one that fails."""
    chosen = _Chosen(tests)
    if mutant:
        _put(mutant)
    files = dict.fromkeys(test.partition("::")[0] for test in tests)
    status = pytest.main(["-x", *_OPTIONS, *files], plugins=[chosen]) if tests else 0
    # Files that can't even be imported name no test.
    return chosen.failed or (f"pytest ends with {status}" if status else None)


def _put(mutant: Mutant) -> None:
    """Let imports, or readers of the template, see a mutant in place of its file."""
    path, text = str(places.ROOT / mutant.path), mutant.text
    get_code, read_text = SourceFileLoader.get_code, Path.read_text

    def mutated_code(self: SourceFileLoader, name: str) -> CodeType | None:
        is_it = self.path == path
        return compile(text, path, "exec", dont_inherit=True) if is_it else get_code(self, name)

    def mutated_text(self: Path, *args: Any, **more: Any) -> str:
        return text if str(self) == path else read_text(self, *args, **more)

    if mutant.path == TEMPLATE:
        Path.read_text = mutated_text  # type: ignore[method-assign]
    else:
        SourceFileLoader.get_code = mutated_code  # type: ignore[assignment, method-assign]


def record(files: list[str]) -> dict[str, Any]:
    """Return the seconds of the tests of some files, and the numbers of those that run a line."""
    os.environ["COVERAGE_CORE"] = "ctrace"  # the only one that tells tests apart
    modules = [str(places.ROOT / pattern) for pattern in MODULES]
    chosen = _Chosen()
    chosen.coverage = coverage = Coverage(data_file=None, include=modules, config_file=False)
    status = pytest.main([*_OPTIONS, *files], plugins=[chosen])
    coverage.stop()
    if status not in {pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED}:
        return {"failed": chosen.failed or f"{files}: pytest ends with {status}"}
    numbers = {test: number for number, test in enumerate(chosen.seconds)}
    data = coverage.get_data()
    lines = {
        str(Path(path).relative_to(places.ROOT)): {
            line: [numbers[test] for test in tests if test]
            for line, tests in data.contexts_by_lineno(path).items()
            if any(tests)
        }
        for path in data.measured_files()
    }
    return {"tests": chosen.seconds, "lines": lines}
