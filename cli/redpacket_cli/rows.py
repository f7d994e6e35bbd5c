"""DynamoDB queries of the CLI, and tables that show their rows."""

from collections.abc import Iterator
from typing import Any

import typer
from rich.text import Text

from redpacket_cli import show as shown
from redpacket_cli.session import session_of
from redpacket_cli.target import Target


def tell_rows(context: typer.Context, rows: list[dict[str, Any]], columns: tuple[str, ...]) -> None:
    """Show the *columns* that any row has. Other fields stay hidden, because rows hold secrets."""
    items = [{name: row[name] for name in columns if name in row} for row in rows]
    used = [name for name in columns if any(name in item for item in items)]
    cells = ([cell(name, item.get(name)) for name in used] for item in items)
    screen = session_of(context).screen
    screen.report({"items": items}, shown.table(used, cells) if items else Text("none"))


def cell(name: str, value: Any) -> str:  # noqa: ANN401 - a value of DynamoDB
    """Format the value of the field *name*."""
    if value is None:
        return ""
    return shown.moment(int(value)) if name.endswith("_at_ms") else str(value)


def rows_of(target: Target, table: str, pk: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a partition with consistent reads."""
    yield from query(
        target,
        TableName=target.outputs[table],
        ConsistentRead=True,
        KeyConditionExpression="pk = :pk",
        ExpressionAttributeValues={":pk": {"S": pk}},
    )


def query(target: Target, **asked: Any) -> Iterator[dict[str, Any]]:  # noqa: ANN401 - of boto3
    """Yield the rows of a query."""
    pages = target.aws("dynamodb").get_paginator("query").paginate(**asked)
    for page in pages:
        for row in page["Items"]:
            yield {name: _plain(value) for name, value in row.items()}


def _plain(value: dict[str, Any]) -> Any:  # noqa: ANN401 - a value of DynamoDB
    ((letter, plain),) = value.items()
    return int(plain) if letter == "N" else plain
