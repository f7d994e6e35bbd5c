"""Runs of reconciliation: one at a time, each after the last."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from redpacket.reconciliation.errors import RunNotFound
from redpacket.reconciliation.ports import Runs, StoredRun
from redpacket.reconciliation.use_cases.statements import (
    Run,
    attributes,
    checks,
    counted,
    external,
    filled,
    reports,
    rows,
)


def start_run(run_id: str, *, runs: Runs) -> str:
    """Start a run and return its id; return the id of the run that goes on, if there is one.

    An export has a price, so nobody can order one with each request.
    """
    if going_on := runs.newest("RUNNING"):
        return going_on[0]
    runs.start(run_id)
    return run_id


def find_run(run_id: str, *, runs: Runs) -> StoredRun:
    """Return a run. Raises RunNotFound."""
    if run := runs.find(run_id):
        return run
    raise RunNotFound


def last_result(*, runs: Runs) -> Mapping[str, Any]:
    """Return the result of the last run that succeeded, empty before the first."""
    newest = runs.newest("SUCCEEDED")
    run = runs.find(newest[0]) if newest else None
    return run.output if run else {}


def stale_databases(run_id: str, database: str, *, runs: Runs) -> list[str]:
    """Return the databases of earlier runs: of good ones, and of those that were stopped.

    The one of *run_id* takes their place for reports; a run that fails drops its own.
    """
    stem = database.rpartition("_")[0].removesuffix(run_id.replace("-", "_"))
    ended = [
        run_id for status in ("SUCCEEDED", "ABORTED", "TIMED_OUT") for run_id in runs.newest(status)
    ]
    return [f"{stem}{run_id.replace('-', '_')}_{look}" for run_id in ended for look in (1, 2)]


def report_views(run: Run, database: str, place: str) -> list[dict[str, str]]:
    """Return the queries that lead the reports in the database *place* to the rows of a run."""
    return [
        {"name": name, "sql": f"CREATE OR REPLACE VIEW {place}.{name} AS {query}"}
        for name, query in reports(run, database).items()
    ]


def batches(run: Run, places: Mapping[str, str]) -> list[list[dict[str, str]]]:
    """Return what a run asks the engine, in batches whose queries may run side by side.

    *places* are the exported files by table. The last batch are the checks.
    """
    raw = {
        f"{name}_raw": external(f"{name}_raw", kinds, places[name])
        for name, kinds in attributes(run).items()
    }
    typed = {name: filled(name, query) for name, query in rows(run).items()}
    # It reads the other tables.
    last = {"asked_entry": typed.pop("asked_entry")}
    counts = {name: counted(query) for name, query in checks(run).items()}
    return [
        [{"name": name, "sql": sql} for name, sql in batch.items()]
        for batch in (raw, typed, last, counts)
    ]
