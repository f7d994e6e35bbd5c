"""Pages of lists as CSV (RFC 4180) that are safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

CSV = "text/csv"
CONTENT_TYPE = "text/csv; charset=utf-8; header=present"
NEXT_HEADER = "x-next-cursor"
"""Header with the next page's cursor, like `next` in JSON; missing on the last page."""

_JSON = "application/json"
_ID_COLUMN = re.compile(r"account|sender|unit|user|via|\w+_(id|token)")
# An id may start with "-", but a formula of these characters can't call a function.
_ID = re.compile(r"[\w.-]+", re.ASCII)
# OWASP's list of characters that start a formula, including full-width ones.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def is_csv_asked(headers: Mapping[str, str]) -> bool:
    """Return whether the Accept header names CSV before JSON."""
    named = (
        each.partition(";")[0].strip() for each in headers.get("accept", "").lower().split(",")
    )
    return next((each for each in named if each in {CSV, _JSON}), _JSON) == CSV


def csv_text(columns: Sequence[str], items: Sequence[Mapping[str, object]]) -> str:
    """Return a header line and a line for each item; every string is quoted."""
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\r\n")
    writer.writerow(columns)
    for item in items:
        writer.writerow([_cell(column, item[column]) for column in columns])
    return text.getvalue()


def csv_answer(columns: Sequence[str], page: Mapping[str, Any]) -> dict[str, Any]:
    """Return the Lambda response for a page with `items` and `next`."""
    headers = {"cache-control": "no-store", "content-type": CONTENT_TYPE}
    if page["next"] is not None:
        headers[NEXT_HEADER] = page["next"]
    return {"statusCode": 200, "headers": headers, "body": csv_text(columns, page["items"])}


def _cell(column: str, value: object) -> str | int:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return value
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if not text.startswith(_FORMULA) or (_ID_COLUMN.fullmatch(column) and _ID.fullmatch(text)):
        return text
    # A leading apostrophe makes spreadsheets treat the cell as text.
    return f"'{text}"
