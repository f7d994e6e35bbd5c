"""Runs tests in forked children: everything is imported and collected once."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from importlib.machinery import SourceFileLoader
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest
from coverage import Coverage

from local import places
from tests.mutants.generate import MODULES, TEMPLATE, Mutant

FOLDERS = (
    "tests/unit",
    "tests/contract",
    "tests/property",
    *(f"tests/template/test_{name}.py" for name in ("template", "rows", "rights")),
)
_OF_NO_MONEY = (  # texts, figures, the command, wires, Lua; and stories, which Hypothesis draws
    "tests/unit/cli tests/unit/bench"
    " tests/unit/local tests/unit/platform/test_openapi*"
    " tests/contract/test_payments_*"
    " tests/contract/test_*lua* tests/contract/test_*tls* tests/contract/test_cold*"
    " tests/contract/test_cluster* tests/contract/test_storms*"
    " tests/property/test_in_memory*"
)
CACHE = places.LOCAL / "cache" / "mutants"
_OPTIONS = (
    *("--quiet", "--capture=no", "-o", f"cache_dir={CACHE / 'pytest'}"),
    *(f"--ignore-glob={places.ROOT / pattern}" for pattern in _OF_NO_MONEY.split()),
)
_WALL_PER_CPU = 10
"""Maximum time of a child, as a multiple of its processor's time: the machine may be busy."""

Job = tuple[Callable[[], Any], float]
"""Result of a child, and its limit in seconds of processor time."""


class _Plugin:
    """Notes the first test that fails."""

    failed: str | None = None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.failed:
            self.failed = report.nodeid


class Tests(_Plugin):
    """All tests, collected once; *work* is done where they would run."""

    def __init__(self, work: Callable[[Tests], int]) -> None:
        self._work = work
        self.items: dict[str, pytest.Item] = {}
        self.status = 1

    def run(self) -> int:
        """Collect the tests, and return what the work returns."""
        pytest.main([*_OPTIONS, *FOLDERS], plugins=[self])
        return self.status

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        import hypothesis  # not before pytest, which rewrites its assertions

        hypothesis.settings.register_profile("mutants", database=None, derandomize=True)
        hypothesis.settings.load_profile("mutants")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:
            pytest.exit("the unchanged tests can't be collected", 1)
        self.items = {item.nodeid: item for item in session.items if _runs_here(item)}
        self.status = self._work(self)
        return True

    def _run(self, tests: list[str]) -> Iterator[str]:
        """Run tests one by one, and yield each."""
        for test, after in zip(tests, [*tests[1:], None], strict=True):
            item = self.items[test]
            following = self.items[after] if after else None
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            yield test

    def first_failure(self, tests: list[str], mutant: Mutant | None) -> str | None:
        """Run tests in this order, and return the first one that fails."""
        if mutant and not _put_in_place(mutant):
            return _fail_anew(tests, mutant)
        return next((test for test in self._run(tests) if self.failed), None)

    def record(self, tests: list[str]) -> dict[str, Any]:
        """Return the seconds of tests, and the numbers of those that run each line."""
        os.environ["COVERAGE_CORE"] = "ctrace"  # the only one that tells tests apart
        modules = [str(places.ROOT / pattern) for pattern in MODULES]
        coverage = Coverage(data_file=None, include=modules, config_file=False)
        coverage.set_option("run:disable_warnings", ["no-data-collected"])
        coverage.start()
        seconds: dict[str, float] = {}
        coverage.switch_context("0")
        start = time.process_time()
        for number, test in enumerate(self._run(tests), 1):
            seconds[test] = round(time.process_time() - start, 4)
            coverage.switch_context(str(number))
            start = time.process_time()
        coverage.stop()
        data = coverage.get_data()
        lines = {
            str(Path(path).relative_to(places.ROOT)): {
                line: [int(number) for number in numbers if number]
                for line, numbers in data.contexts_by_lineno(path).items()
            }
            for path in data.measured_files()
        }
        return {"failed": self.failed, "tests": seconds, "lines": lines}


def _runs_here(item: pytest.Item) -> bool:
    """Say whether a test needs neither the emulator nor moto."""
    kinds = item.callspec.params.values() if hasattr(item, "callspec") else ()
    marks = {mark.name for mark in item.iter_markers()}
    return not marks & {"emulated", "alone"} and "moto" not in kinds


def run_all(jobs: list[Job], processes: int) -> Iterator[tuple[int, list[Any] | None]]:
    """Yield each job's number and result in a list; None if it was killed."""
    CACHE.mkdir(parents=True, exist_ok=True)
    running: dict[int, int] = {}
    pending = list(enumerate(jobs))[::-1]
    while pending or running:
        while pending and len(running) < processes:
            number, job = pending.pop()
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
    try:
        partly = answer.with_suffix(".part")
        partly.write_text(json.dumps([run()]))
        partly.rename(answer)
    except BaseException:  # noqa: BLE001 - the caller's frames are another process'
        answer.with_suffix(".error").write_text(traceback.format_exc())
    finally:
        os._exit(0)


def _put_in_place(mutant: Mutant) -> bool:
    """Give the functions of a module the code of a mutant; False if that can't be done."""
    path = str(places.ROOT / mutant.path)
    if mutant.path == TEMPLATE or mutant.function == "(module)":
        return False
    code_objects = list(_codes(compile(mutant.text, path, "exec", dont_inherit=True)))
    codes = {code.co_qualname: code for code in code_objects if code.co_flags & CO_OPTIMIZED}
    steps = mutant.function.split(".")
    names = [".".join(steps[: at + 1]) for at in range(len(steps))]
    outer = next((name for name in names if name in codes), "")
    if [code.co_qualname for code in code_objects].count(outer) != 1:
        return False
    functions = [
        each
        for each in gc.get_objects()
        if isinstance(each, FunctionType)
        and each.__code__.co_filename == path
        and each.__code__.co_qualname == outer
    ]
    if all(function.__code__ == codes[outer] for function in functions):
        return False  # a default's value, which is kept elsewhere
    for function in functions:
        function.__code__ = codes[outer]
    return True


def _codes(code: CodeType) -> Iterator[CodeType]:
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield each
            yield from _codes(each)


class _Chosen(_Plugin):
    """Runs these tests in this order."""

    def __init__(self, tests: list[str]) -> None:
        self._place = {test: place for place, test in enumerate(tests)}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if item.nodeid in self._place]
        items.sort(key=lambda item: self._place[item.nodeid])


def _fail_anew(tests: list[str], mutant: Mutant) -> str | None:
    """Import everything again with a mutant in place of its file, and run tests."""
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
    for name in [name for name, module in sys.modules.items() if _is_ours(name, module)]:
        del sys.modules[name]
    chosen = _Chosen(tests)
    files = dict.fromkeys(test.partition("::")[0] for test in tests)
    status = pytest.main(["-x", *_OPTIONS, *files], plugins=[chosen])
    # Files that can't even be imported name no test.
    return chosen.failed or (f"pytest ends with {status}" if status else None)


def _is_ours(name: str, module: Any) -> bool:
    homes = [getattr(module, "__file__", None) or "", *getattr(module, "__path__", ())]
    is_here = any(home.startswith(f"{places.ROOT}/") and "/.local/" not in home for home in homes)
    return is_here and not name.startswith(("tests.mutants", "__main__"))
