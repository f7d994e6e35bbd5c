"""A page of a list as CSV (RFC 4180), which a spreadsheet may open without running anything."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

CSV = "text/csv"
CONTENT_TYPE = "text/csv; charset=utf-8; header=present"
NEXT_HEADER = "x-next-cursor"
"""Where CSV says what JSON says by `next`; it is missing on the last page."""

_JSON = "application/json"
# OWASP's list: what spreadsheets take for a formula at the start of a cell, full-width signs too.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def is_csv_asked(headers: Mapping[str, str]) -> bool:
    """Tell whether Accept names CSV before JSON."""
    named = (
        each.partition(";")[0].strip() for each in headers.get("accept", "").lower().split(",")
    )
    return next((each for each in named if each in {CSV, _JSON}), _JSON) == CSV


def csv_text(columns: Sequence[str], items: Sequence[Mapping[str, object]]) -> str:
    """Return a head and a line for each of *items*; every text is quoted."""
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\r\n")
    writer.writerow(columns)
    for item in items:
        writer.writerow([_cell(item[column]) for column in columns])
    return text.getvalue()


def csv_answer(columns: Sequence[str], page: Mapping[str, Any]) -> dict[str, Any]:
    """Return Lambda's answer of a page that has `items` and `next`."""
    headers = {"cache-control": "no-store", "content-type": CONTENT_TYPE}
    if page["next"] is not None:
        headers[NEXT_HEADER] = page["next"]
    return {"statusCode": 200, "headers": headers, "body": csv_text(columns, page["items"])}


def _cell(value: object) -> str | int:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return value
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    # An apostrophe makes a cell a text.
    return f"'{text}" if text.startswith(_FORMULA) else text
