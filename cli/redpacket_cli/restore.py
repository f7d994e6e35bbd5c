"""Comparison of a restored table with the live one, and recovery of lost rows."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any

import typer
from rich.text import Text

from redpacket.platform.restored import RESTORED
from redpacket_cli.failures import Exit
from redpacket_cli.session import an_id, session_of

_SEGMENTS = 16
_ROWS_MAX = 100
"""Maximum number of rows in one BatchGetItem request."""

_Row = dict[str, Any]
_Key = tuple[str, ...]


def restore(
    context: typer.Context,
    before: Annotated[str, typer.Argument(help="Name of the restored table.", callback=an_id)],
    table: Annotated[
        str, typer.Argument(help="Output that names the live table, like SharesTable.")
    ],
    is_put_back: Annotated[
        bool, typer.Option("--put-back", help="Write the missing rows into the live table.")
    ] = False,
) -> None:
    """Compare a restored table with the live one. Live rows that differ are never overwritten.

    A restored row causes no events. After a withdrawal is restored, the provider is queried before
    it is asked to pay.
    """
    from redpacket_cli import corrections

    session = session_of(context)
    if is_put_back:
        corrections.note_command(session.target, "ledger restore --put-back", before, table)
    live = session.target.outputs[table]
    # Create the clients before the threads, because boto3's default session is not thread-safe.
    clients = [session.target.aws("dynamodb") for _ in range(_SEGMENTS)]
    names = [part["AttributeName"] for part in _key_schema(clients[0], live)]

    def compared(segment: int) -> list[dict[str, str]]:
        client = clients[segment]
        differing = _compare(client, before, live, names, segment)
        return [
            _noted(client, live, difference, names, is_put_back=is_put_back)
            for difference in differing
        ]

    with ThreadPoolExecutor(_SEGMENTS) as pool:
        items = [item for part in pool.map(compared, range(_SEGMENTS)) for item in part]
    lines = (f"{item['state']} {item['key']}" for item in items)
    session.screen.report({"items": items}, Text("\n".join(lines) or "No row differs."))
    if any(item["state"] != "put back" for item in items):
        raise typer.Exit(Exit.FOUND)


def _key_schema(client: Any, table: str) -> list[dict[str, str]]:  # noqa: ANN401 - of boto3
    schema: list[dict[str, str]] = client.describe_table(TableName=table)["Table"]["KeySchema"]
    return schema


def _compare(
    client: Any,  # noqa: ANN401 - of boto3
    before: str,
    live: str,
    names: list[str],
    segment: int,
) -> Iterator[tuple[str, _Row]]:
    """Yield the rows in a segment of *before* that are missing or different in the live table."""
    pages = client.get_paginator("scan").paginate(
        TableName=before, Segment=segment, TotalSegments=_SEGMENTS
    )
    for page in pages:
        for start in range(0, len(page["Items"]), _ROWS_MAX):
            some = map(_unmarked, page["Items"][start : start + _ROWS_MAX])
            rows = {_key(row, names): row for row in some}
            live_rows = _read(client, live, names, list(rows.values()))
            for key, row in rows.items():
                if live_rows.get(key) not in (row, asked_first(row)):
                    yield "differs" if key in live_rows else "missing", row


def _read(client: Any, live: str, names: list[str], rows: list[_Row]) -> dict[_Key, _Row]:  # noqa: ANN401
    wanted = [{name: row[name] for name in names} for row in rows]
    pending: dict[str, Any] = {live: {"Keys": wanted, "ConsistentRead": True}}
    live_rows: dict[_Key, _Row] = {}
    while pending:
        answer = client.batch_get_item(RequestItems=pending)
        some = map(_unmarked, answer["Responses"].get(live, []))
        live_rows |= {_key(row, names): row for row in some}
        pending = answer["UnprocessedKeys"]
    return live_rows


def asked_first(row: _Row) -> _Row:
    """Return *row* ready to restore. If it waits for a transfer call, schedule a query first.

    The provider may have paid the row's withdrawal after the backup.
    """
    work = row.get("work_pk", {"S": ""})["S"]
    if not work.startswith("transfer-"):
        return row
    return {**row, "work_pk": {"S": f"look-{work.removeprefix('transfer-')}"}}


def _unmarked(row: _Row) -> _Row:
    return {name: value for name, value in row.items() if name != RESTORED}


def _key(row: _Row, names: list[str]) -> _Key:
    return tuple(str(row[name]["S"]) for name in names)


def _noted(
    client: Any,  # noqa: ANN401 - of boto3
    live: str,
    difference: tuple[str, _Row],
    names: list[str],
    *,
    is_put_back: bool,
) -> dict[str, str]:
    state, row = difference
    if state == "missing" and is_put_back:
        condition = "attribute_not_exists(pk)"
        restored = {RESTORED: {"N": str(time.time_ns() // 1_000_000)}}
        item = {**asked_first(row), **restored}
        client.put_item(TableName=live, Item=item, ConditionExpression=condition)
        state = "put back"
    return {"state": state, "key": " ".join(_key(row, names))}
