"""Runs of reconciliation: one at a time, each after the last."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from redpacket.reconciliation.errors import RunNotFound
from redpacket.reconciliation.ports import Runs, StoredRun
from redpacket.reconciliation.use_cases.statements import Run, attributes, checks, counted, rows


def start_run(run_id: str, *, runs: Runs) -> str:
    """Start a run and return its id; return the id of the run that goes on, if there is one.

    An export has a price, so nobody can order one with each request.
    """
    if going_on := runs.newest("RUNNING"):
        return going_on
    runs.start(run_id)
    return run_id


def find_run(run_id: str, *, runs: Runs) -> StoredRun:
    """Return a run. Raises RunNotFound."""
    if found := runs.find(run_id):
        return found
    raise RunNotFound


def last_result(*, runs: Runs) -> Mapping[str, Any]:
    """Return the result of the last run that succeeded, empty before the first."""
    newest = runs.newest("SUCCEEDED")
    found = runs.find(newest) if newest else None
    return found.output if found else {}


def batches(
    run: Run,
    places: Mapping[str, str],
    external_table: Callable[[str, Mapping[str, str], str], str],
    filled_table: Callable[[str, str], str],
) -> list[list[dict[str, str]]]:
    """Return what a run asks the engine, in batches whose queries may run side by side.

    *places* are the exported files by table. The last batch are the checks.
    """
    raw = {
        f"{name}_raw": external_table(f"{name}_raw", kinds, places[name])
        for name, kinds in attributes(run).items()
    }
    typed = {name: filled_table(name, query) for name, query in rows(run).items()}
    # It reads the other tables.
    last = {"asked_entry": typed.pop("asked_entry")}
    counts = {name: counted(query) for name, query in checks(run).items()}
    return [
        [{"name": name, "sql": sql} for name, sql in batch.items()]
        for batch in (raw, typed, last, counts)
    ]
