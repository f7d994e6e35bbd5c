"""Exports of tables as DynamoDB writes them, and DuckDB over them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import duckdb

from redpacket.reconciliation.ports import Found
from redpacket.reconciliation.use_cases.reconcile import sums_of
from redpacket.reconciliation.use_cases.statements import (
    Run,
    attributes,
    checks,
    counted,
    filled,
    rows,
)

ROWS_PER_FILE = 100_000

FIRST, SECOND = "look_1", "look_2"
"""Databases of a run's exports."""


def export(folder: Path, rows: Iterable[Mapping[str, Any]]) -> int:
    """Write rows in the form of a full export, with its manifests; return how many there are."""
    data = folder / "data"
    data.mkdir(parents=True)
    left, files = iter(rows), list[dict[str, Any]]()
    while (some := list(islice(left, ROWS_PER_FILE))) or not files:
        name = f"{len(files):06d}.json.gz"
        with gzip.open(data / name, "wt", compresslevel=1, encoding="utf-8") as file:
            for row in some:
                # Bytes are of packed rows, which no statement reads.
                file.write(json.dumps({"Item": row}, ensure_ascii=False, default=str) + "\n")
        files.append({"itemCount": len(some), "dataFileS3Key": f"data/{name}"})
    (folder / "manifest-files.json").write_text(
        "".join(json.dumps(entry) + "\n" for entry in files)
    )
    count: int = sum(entry["itemCount"] for entry in files)
    summary = {"itemCount": count, "exportType": "FULL_EXPORT", "outputFormat": "DYNAMODB_JSON"}
    (folder / "manifest-summary.json").write_text(json.dumps(summary))
    return count


class Duck:
    """DuckDB over the exports in a folder, which has a folder for each table.

    A second look has a *database* beside that of the first one. Many rows need a *file*.
    """

    def __init__(
        self,
        folder: Path,
        run: Run,
        database: str = FIRST,
        before: Duck | None = None,
        *,
        file: str = ":memory:",
    ) -> None:
        self.databases: duckdb.DuckDBPyConnection = (
            before.databases if before else duckdb.connect(file, config={"threads": 2})
        )
        self.database = database
        self.databases.execute(f"CREATE SCHEMA {database}")
        self._connection = self.databases.cursor()
        self._connection.execute(f"USE {database}")
        for table, kinds in attributes(run).items():
            fields = ", ".join(
                f'{column} STRUCT("{kind.upper()}" text)' for column, kind in kinds.items()
            )
            self._connection.execute(
                f"CREATE VIEW {table}_raw AS SELECT Item AS item FROM read_json("  # noqa: S608
                f"'{folder / table}/data/*.json.gz', format='newline_delimited',"
                f" columns={{'Item': 'STRUCT({fields})'}})"
            )

    def type_rows(self, run: Run) -> Duck:
        """Type all rows, as the first queries of a run do."""
        for name, query in rows(run).items():
            self.rows(filled(name, query))
        return self

    def counts(self, run: Run) -> dict[str, tuple[int, int]]:
        """Run all checks one after the other; an orchestration runs them at once."""
        return {name: sums_of(self.rows(counted(sql))[0]) for name, sql in checks(run).items()}

    def rows(self, sql: str) -> Found:
        """Return the rows of a query, every value as text."""
        return self.named_rows(sql)[1:]

    def named_rows(self, sql: str) -> Found:
        """Return the names of a query's columns, and then its rows, as Athena does."""
        cursor = self._connection.execute(sql.replace(" WITH (format = 'PARQUET')", ""))
        names = tuple(column[0] for column in cursor.description or ())
        rows = cursor.fetchall()
        return [
            names,
            *(tuple(None if cell is None else str(cell) for cell in row) for row in rows),
        ]
