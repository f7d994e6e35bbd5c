"""Table exports in DynamoDB's format, and DuckDB over such exports."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any, TypeAlias

import duckdb

from redpacket.reconciliation.ports import Found
from redpacket.reconciliation.use_cases.reconcile import sums_of
from redpacket.reconciliation.use_cases.statements import (
    Run,
    checks,
    counted,
    file_columns,
    filled,
    images,
    rows,
)

ROWS_PER_FILE = 100_000

Rows: TypeAlias = "Mapping[tuple[str, str], Mapping[str, Any]]"
"""Rows of a table, keyed by partition and sort key."""


def export(folder: Path, rows: Iterable[Mapping[str, Any]]) -> int:
    """Write a full export of *rows*, with manifests; return the number of rows."""
    return write_files(folder, ({"Item": row} for row in rows), {"exportType": "FULL_EXPORT"})


def export_changes(folder: Path, before: Rows, after: Rows) -> int:
    """Write an incremental export of changed rows; return the number of records.

    DynamoDB does not order the records. So for each changed row in *before*, the export also has an
    older record, before or after the newest record, and possibly in another file.
    """
    changed = sorted(
        key for key in before.keys() | after.keys() if before.get(key) != after.get(key)
    )
    records = [
        record
        for written_us, rows in ((1, before), (2, after))
        for pk, sk in changed
        if (pk, sk) in before or rows is after
        for record in [change((pk, sk), rows.get((pk, sk)), written_us)]
    ]
    Random(len(changed)).shuffle(records)  # noqa: S311 - the order alone
    about = {"exportType": "INCREMENTAL_EXPORT", "outputView": "NEW_IMAGE"}
    return write_files(folder, records, about, per_file=max(1, len(changed) // 2))


def change(key: tuple[str, str], row: Mapping[str, Any] | None, written_us: int) -> dict[str, Any]:
    """Return the record of a write; *row* is None for a deletion."""
    keys = {name: {"S": text} for name, text in zip(("pk", "sk"), key, strict=True) if text}
    about = {"Metadata": {"WriteTimestampMicros": {"N": str(written_us)}}, "Keys": keys}
    return about if row is None else {**about, "NewImage": row}


def write_files(
    folder: Path,
    records: Iterable[Mapping[str, Any]],
    about: Mapping[str, str],
    per_file: int = ROWS_PER_FILE,
) -> int:
    """Write an export's records and manifests; return the number of records."""
    data = folder / "data"
    data.mkdir(parents=True)
    left, files = iter(records), list[dict[str, Any]]()
    while (some := list(islice(left, per_file))) or not files:
        name = f"{len(files):06d}.json.gz"
        with gzip.open(data / name, "wt", compresslevel=1, encoding="utf-8") as file:
            for record in some:
                # `default=str` is for bytes, which only packed rows contain; no query reads packed
                # rows.
                file.write(json.dumps(record, ensure_ascii=False, default=str) + "\n")
        files.append({"itemCount": len(some), "dataFileS3Key": f"data/{name}"})
    (folder / "manifest-files.json").write_text(
        "".join(json.dumps(entry) + "\n" for entry in files)
    )
    count: int = sum(entry["itemCount"] for entry in files)
    summary = {"itemCount": count, "outputFormat": "DYNAMODB_JSON", **about}
    (folder / "manifest-summary.json").write_text(json.dumps(summary))
    return count


class Duck:
    """DuckDB database over the exports in *folder*, which has a subfolder for each table.

    An incremental export gets a *database* beside that of the export *before*. With a *file*, for
    many rows, DuckDB reads the exports at each query, so they must outlive this object. Otherwise,
    the constructor loads the exports.
    """

    def __init__(
        self,
        folder: Path,
        run: Run,
        database: str = "look",
        before: Duck | None = None,
        *,
        file: str = "",
    ) -> None:
        self.databases: duckdb.DuckDBPyConnection = (
            before.databases
            if before
            else duckdb.connect(file or ":memory:", config={"threads": 2 if file else 1})
        )
        self.database, self._file = database, file
        self.databases.execute(f"CREATE SCHEMA {database}")
        self._connection = self.databases.cursor()
        self._connection.execute(f"USE {database}")
        for name, columns in file_columns(run).items():
            structs = {
                column: "STRUCT({})".format(
                    ", ".join(f'{key} STRUCT("{kind.upper()}" text)' for key, kind in kinds.items())
                )
                for column, kinds in columns.items()
            }
            self._connection.execute(
                f"CREATE {'VIEW' if file else 'TABLE'} {name} AS SELECT * FROM read_json("  # noqa: S608
                f"'{folder / name.rpartition('_')[0]}/data/*.json.gz',"
                f" format='newline_delimited', columns={structs})"
            )

    def type_rows(self, run: Run) -> Duck:
        """Convert all rows to SQL types, as the first queries of a run do."""
        for name, query in images(run).items():
            # For a few rows, a view is enough.
            is_copied = bool(run.base or self._file)
            self.rows(filled(name, query) if is_copied else f"CREATE VIEW {name} AS {query}")
        for name, query in rows(run).items():
            self.rows(filled(name, query))
        return self

    def counts(self, run: Run) -> dict[str, tuple[int, int]]:
        """Run all checks one after the other; the state machine runs them concurrently."""
        return {name: sums_of(self.rows(counted(sql))[0]) for name, sql in checks(run).items()}

    def rows(self, sql: str) -> Found:
        """Return a query's rows, with every value as text."""
        return self.named_rows(sql)[1:]

    def named_rows(self, sql: str) -> Found:
        """Return a query's column names, followed by its rows, as Athena does."""
        cursor = self._connection.execute(sql.replace(" WITH (format = 'PARQUET')", ""))
        names = tuple(column[0] for column in cursor.description or ())
        rows = cursor.fetchall()
        return [
            names,
            *(tuple(None if cell is None else str(cell) for cell in row) for row in rows),
        ]
