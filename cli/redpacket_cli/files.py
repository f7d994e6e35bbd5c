"""Exported lists: CSV for programs and spreadsheets, XLSX for people."""

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from redpacket_cli.failures import no_target

if TYPE_CHECKING:
    from xlsxwriter.worksheet import Worksheet

Item = Mapping[str, Any]

XLSX = ".xlsx"
SHEET_ROWS_MAX = 1_048_576
_WIDTH = 20
"""Column width in characters, enough for a date and time."""


def write_csv(file: Path, texts: Iterable[str]) -> int:
    """Write CSV texts, the first with the header line. Return the number of rows."""
    # Without a byte order mark, Excel assumes the computer's legacy encoding.
    with file.open("w", encoding="utf-8-sig", newline="") as target:
        count = -1  # The header line does not count.
        for text in texts:
            target.write(text)
            count += records(text)
    return count


def write_xlsx(file: Path, columns: Sequence[str], items: Iterable[Item]) -> int:
    """Write a sheet with ids as text, sums as numbers and times as times. Return the row count.

    Times are in the terminal's time zone, as in tables. Raises Failure.
    """
    # Import lazily: only XLSX exports need this slow import.
    from xlsxwriter import Workbook

    count = 0
    with Workbook(str(file), {"constant_memory": True}) as book:
        sheet = book.add_worksheet()
        sheet.freeze_panes(1, 0)
        formats = [book.add_format({"num_format": form}) for form in map(_format_of, columns)]
        for number, (column, form) in enumerate(zip(columns, formats, strict=True)):
            sheet.set_column(number, number, _WIDTH, form)
            sheet.write_string(0, number, column.removesuffix("_ms"))
        for count, item in enumerate(items, 1):
            if count == SHEET_ROWS_MAX:
                raise no_target(f"A sheet has at most {SHEET_ROWS_MAX} rows. Name a .csv file")
            for number, column in enumerate(columns):
                _write(sheet, (count, number), column, item[column])
    return count


def records(text: str) -> int:
    """Return the number of records in a CSV text."""
    return sum(1 for _ in csv.reader(io.StringIO(text, newline="")))


def _format_of(column: str) -> str:
    if re.fullmatch(r".+_at_ms", column):
        return "yyyy-mm-dd hh:mm:ss"
    return "0.00" if column.endswith("_yuan") else "General"


def _write(sheet: "Worksheet", place: tuple[int, int], column: str, value: object) -> None:
    """Write a cell. Except in `_yuan` columns, text never becomes a formula, link or number."""
    if value is None or value == "":
        return
    if isinstance(value, int) and column.endswith("_at_ms"):
        at = datetime.fromtimestamp(value / 1000, UTC).astimezone().replace(tzinfo=None)
        sheet.write_datetime(*place, at)
    elif column.endswith("_yuan"):
        sheet.write_number(*place, Decimal(str(value)))
    elif isinstance(value, int) and not isinstance(value, bool):
        sheet.write_number(*place, value)
    else:
        is_text = isinstance(value, str)
        sheet.write_string(*place, str(value) if is_text else json.dumps(value, ensure_ascii=False))
