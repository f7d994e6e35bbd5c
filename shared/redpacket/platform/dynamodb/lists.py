"""Pages of lists: newest rows first, or several work lists one after another."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from redpacket.platform.dynamodb.client import Dynamo, Row, to_wire, values
from redpacket.platform.errors import invalid_cursor

Parsed = TypeVar("Parsed")

_ALL = ("0", f"{10**13 - 1}#~")
"""Positions before the first and after the last row of any list."""


@dataclass(frozen=True, slots=True)
class NewestFirst:
    """Lists in one table; their cursors match the pattern *form*.

    *index* may lag and has only some attributes; None reads the table itself.
    """

    dynamo: Dynamo
    table: str
    form: str
    index: str | None = "by_list"

    def page(
        self, name: str, cursor: str | None, limit: int, between: tuple[str, str] = _ALL
    ) -> tuple[list[dict[str, Any]], str | None]:
        """Return a page of a list and the next cursor. Raises InvalidRequest for a bad cursor."""
        if cursor is not None and not re.fullmatch(self.form, cursor):
            raise invalid_cursor()
        first, last = between
        last = min(last, cursor or last)
        if last < first:
            return [], None
        pk, sk = ("list_pk", "list_sk") if self.index else ("pk", "sk")
        listed = self.dynamo.query_some(
            self.table,
            limit + 2,
            **({"IndexName": self.index} if self.index else {}),
            KeyConditionExpression=f"{pk} = :list AND {sk} BETWEEN :first AND :last",
            ExpressionAttributeValues=values(list=name, first=first, last=last),
            ScanIndexForward=False,
        )
        rows = [row for row in listed if row[sk] != cursor]
        page = rows[:limit]
        return page, str(page[-1][sk]) if len(rows) > limit else None

    def read_page(
        self, name: str, cursor: str | None, limit: int
    ) -> tuple[list[dict[str, Any]], str | None]:
        """Return the same page as `page`, with full rows from strongly consistent reads."""
        rows, more = self.page(name, cursor, limit)
        return read_in_order(self.dynamo, self.table, rows), more


def read_in_order(dynamo: Dynamo, table: str, row_keys: Sequence[Row]) -> list[dict[str, Any]]:
    """Return the existing rows in the order of *row_keys*, from strongly consistent reads.

    An index may list a row twice while the row moves; the result contains the row once.
    """
    wanted = dict.fromkeys((key["pk"], key["sk"]) for key in row_keys)
    full = dynamo.get_many(table, [{"pk": pk, "sk": sk} for pk, sk in wanted], is_strong=True)
    rows = {(row["pk"], row["sk"]): row for row in full}
    return [rows[key] for key in wanted if key in rows]


def readable(
    parse: Callable[[dict[str, Any]], Parsed], rows: Iterable[dict[str, Any]]
) -> list[Parsed]:
    """Return the rows that *parse* can read, for lists that several roles may write.

    An unreadable row must not hide the others.
    """
    parsed: list[Parsed] = []
    for row in rows:
        with suppress(ArithmeticError, LookupError, TypeError, ValueError, RecursionError):
            parsed.append(parse(row))
    return parsed


def list_across(
    dynamo: Dynamo, table: str, work_lists: Sequence[str], start: tuple[int, Row], limit: int
) -> tuple[list[dict[str, Any]], tuple[int, dict[str, Any]] | None]:
    """Return a page of several work lists, one after another, and the start of the next page.

    A start consists of a list's number and the key of the last row before the page ({} for none).
    """
    first, after = start
    page: list[tuple[int, dict[str, Any]]] = []
    for number in range(first, len(work_lists)):
        work = work_lists[number]
        place = {"ExclusiveStartKey": to_wire({**after, "work_pk": work})} if after else {}
        after = {}
        rows = dynamo.query_some(
            table,
            limit + 1 - len(page),
            IndexName="by_work",
            KeyConditionExpression="work_pk = :work",
            ExpressionAttributeValues=values(work=work),
            **place,
        )
        page += [(number, row) for row in rows]
        if len(page) > limit:
            return [row for _, row in page[:limit]], page[limit - 1]
    return [row for _, row in page], None
