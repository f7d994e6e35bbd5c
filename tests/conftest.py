"""Real services that several suites share; each starts once, when the first test needs it."""

from __future__ import annotations

import os
import subprocess
import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from local import places
from local.access import Access
from local.ports import HOST, Ports, is_open
from testing.platform.servers import OperatorCache

if TYPE_CHECKING:
    from collections.abc import Iterator

    from local.stack import Stack

EMBEDS = "http://localhost:5173"
"""Origin whose pages may embed the stack's packets. No server listens there."""

# Hypothesis must not fail a test because the machine is busy.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

os.environ.setdefault("POWERTOOLS_METRICS_NAMESPACE", "redpacket")
"""Namespace of metrics, which the template sets for every function."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that need the emulator, and record the device of each test that names one."""
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        kinds = item.callspec.params.values() if hasattr(item, "callspec") else ()
        if fixtures & {"stack", "cloud"} or "emulator" in kinds:
            item.add_marker("emulated")
        for marker in item.iter_markers("device"):
            item.user_properties.append(("device", marker.args))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print which jobs passed and which failed on each hostile device."""
    cells: dict[str, dict[str, bool]] = {}
    for outcome in ("passed", "failed", "error"):
        for report in terminalreporter.getreports(outcome):
            for name, cell in getattr(report, "user_properties", ()):
                if name == "device":
                    device, job = cell
                    jobs = cells.setdefault(device, {})
                    jobs[job] = jobs.get(job, True) and outcome == "passed"
    if cells:
        terminalreporter.section("jobs on hostile devices")
    for device, jobs in cells.items():
        words = [job if is_done else f"{job.upper()} FAILED" for job, is_done in jobs.items()]
        terminalreporter.write_line(f"{device:<20} {' '.join(words)}")


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """The complete system: the real template deployed to the emulator, with a real cache.

    In a parallel run, each process starts its own stack. Most tests wait, so the stacks can share
    the cores.
    """
    from local.stack import Stack  # import late, because most runs need no stack

    access = Access(embed=EMBEDS)
    with Stack(tmp_path_factory.mktemp("stack"), hosts_page=True, access=access) as running:
        yield running


@pytest.fixture(scope="session")
def redis_port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """Yield the port of a real Valkey or Redis server that runs without other services."""
    port = Ports.free().cache
    command = [places.cache_server(), "--bind", HOST, "--port", str(port), "--save", ""]
    folder = tmp_path_factory.mktemp("redis")
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL) as server:
        while not is_open(port):
            time.sleep(0.01)
        yield port
        server.terminate()


@pytest.fixture
def cache(redis_port: int) -> Iterator[OperatorCache]:
    """Yield a client for an empty cache. The client has the commands of operators and of the
    adapters.
    """
    client = OperatorCache(redis_port, timeout_s=2)
    client.flushall()
    yield client
    client.close()
