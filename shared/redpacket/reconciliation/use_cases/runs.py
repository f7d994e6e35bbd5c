"""Runs of reconciliation, one at a time."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from redpacket.platform.errors import Unavailable
from redpacket.reconciliation.errors import RunNotFound
from redpacket.reconciliation.ports import StoredRun
from redpacket.reconciliation.use_cases.reconcile import sums_of
from redpacket.reconciliation.use_cases.statements import (
    DAY_MS,
    Run,
    attributes,
    checks,
    counted,
    exported,
    external,
    file_columns,
    filled,
    images,
    reports,
    rows,
)

if TYPE_CHECKING:
    from redpacket.reconciliation.clients.state_machine import StateMachine

EXPORTED = "exported"
"""Name of the query that compares the number of exported rows with the number of rows read."""

LOOKS = range(1, 5)
"""Numbers of a run's comparisons: two of changes and, if these differ, two of all rows."""

FULL_AFTER_MS = 7 * DAY_MS - 3_600_000
"""Milliseconds between full exports: a week minus an hour, in case a run starts slightly early."""

WINDOW_MAX_MS = DAY_MS
"""Maximum window of a DynamoDB incremental export, in milliseconds."""

_LATE_MAX_MS = 3_600_000
"""Maximum milliseconds by which a window of maximum length may end before the request."""


def start_run(run_id: str, *, runs: StateMachine) -> str:
    """Start a run and return its id, or return the id of the run in progress.

    An export costs money, so repeated requests must not start several runs.
    """
    if going_on := runs.newest("RUNNING"):
        return going_on[0]
    runs.start(run_id)
    return run_id


def find_run(run_id: str, *, runs: StateMachine) -> StoredRun:
    """Return a run. Raises RunNotFound."""
    if run := runs.find(run_id):
        return run
    raise RunNotFound


def last_result(*, runs: StateMachine) -> Mapping[str, Any]:
    """Return the result of the last successful run; empty before the first one."""
    newest = runs.newest("SUCCEEDED")
    run = runs.find(newest[0]) if newest else None
    return run.output if run else {}


def plan_export(
    asked_at_ms: int, before: Mapping[str, Any], *, window_min_ms: int, is_second: bool = False
) -> dict[str, Any]:
    """Return the plan for the next export: the changes since the result *before*, or all rows.

    An incremental export needs a base without differences (but a second comparison may build on the
    first), with the same attributes and a full export within a week. The window begins where the
    base ends, so no change is missed.
    """
    last: Mapping[str, Any] = before.get("export") or {}
    form = Run("00", asked_at_ms, base="base")
    form_text = json.dumps([attributes(form), images(form)])
    layout = hashlib.sha256(form_text.encode()).hexdigest()[:16]
    full = {"exported_at_ms": asked_at_ms, "full_at_ms": asked_at_ms, "layout": layout, "base": ""}
    if last.get("layout") != layout or (before["differences"] and not is_second):
        return full
    since_ms, full_at_ms = last["exported_at_ms"], last["full_at_ms"]
    at_ms = min(asked_at_ms, since_ms + WINDOW_MAX_MS)
    is_recent = asked_at_ms - at_ms <= _LATE_MAX_MS and at_ms - full_at_ms < FULL_AFTER_MS
    if not is_recent or at_ms - since_ms < window_min_ms:
        return full
    changes = {"exported_at_ms": at_ms, "full_at_ms": full_at_ms, "since_ms": since_ms}
    return {**full, **changes, "base": before["database"]}


def stale_databases(run_id: str, database: str, *, runs: StateMachine) -> list[str]:
    """Return the databases of the newest runs that succeeded, were aborted, or timed out.

    The reports now read the database of *run_id*. A failed run drops its own databases.
    """
    stem = database.rpartition("_")[0].removesuffix(run_id.replace("-", "_"))
    ended = [
        run_id for status in ("SUCCEEDED", "ABORTED", "TIMED_OUT") for run_id in runs.newest(status)
    ]
    return [f"{stem}{run_id.replace('-', '_')}_{look}" for run_id in ended for look in LOOKS]


def report_views(run: Run, database: str, place: str) -> list[dict[str, str]]:
    """Return the queries that point the report views in database *place* at a run's rows."""
    return [
        {"name": name, "sql": f"CREATE OR REPLACE VIEW {place}.{name} AS {query}"}
        for name, query in reports(run, database).items()
    ]


def batches(run: Run, places: Sequence[Mapping[str, Any]]) -> list[list[dict[str, str]]]:
    """Return a run's queries in batches; the queries within a batch may run concurrently.

    *places* has the location of each table's exported files, and the number of exported rows.
    The last batch contains the checks, including EXPORTED.
    """
    files = {place["table"]: place["place"] for place in places}
    item_counts = {place["table"]: int(place["item_count"]) for place in places}
    raw = {
        name: external(name, columns, files[name.rpartition("_")[0]])
        for name, columns in file_columns(run).items()
    }
    current = {name: filled(name, query) for name, query in images(run).items()}
    typed = {name: filled(name, query) for name, query in rows(run).items()}
    # The query for asked_entry reads tables that the previous batch fills.
    last = {"asked_entry": typed.pop("asked_entry")}
    counts = {name: counted(query) for name, query in checks(run).items()}
    counts[EXPORTED] = counted(exported(run, item_counts))
    return [
        [{"name": name, "sql": sql} for name, sql in batch.items()]
        for batch in (raw, current, typed, last, counts)
    ]


def read_sums(rows: Mapping[str, Sequence[str | None]]) -> dict[str, tuple[int, int]]:
    """Return the numbers of rows that each check read and found different.

    Raises Unavailable if the engine did not read all exported rows, because such a run proves
    nothing.
    """
    sums = {name: sums_of(row) for name, row in rows.items()}
    _, differing_tables = sums.pop(EXPORTED)
    if differing_tables:
        raise Unavailable(f"the engine read other rows than exported of {differing_tables} tables")
    return sums
