"""Terminal output: tables and text for people, or one JSON document for programs."""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from redpacket_cli.amounts import money
from redpacket_cli.words import translate

_PIPE_COLUMNS = 100_000
"""Width of output to a file or pipe, where programs read complete values, one row per line."""

_BARS = " ▁▂▃▄▅▆▇█"

_OURS = {"", "check", "detail", "is", "kind", "payout", "status"}
"""Columns that hold the program's own words, which are translated. Users' texts are not."""


@dataclass
class Screen:
    """Output of a command. With *is_json*, standard output holds only JSON."""

    is_json: bool = False
    console: Console = field(default_factory=lambda: console_for(stderr=False))
    notes: Console = field(default_factory=lambda: console_for(stderr=True))

    def report(self, answer: Any, shown: RenderableType | None = None) -> None:  # noqa: ANN401 - any JSON
        """Write *answer* as JSON, or *shown* for people."""
        if self.is_json:
            self.console.file.write(f"{json.dumps(answer, ensure_ascii=False)}\n")
        else:
            # Don't wrap plain text, because a copied token must not contain line breaks.
            is_soft = isinstance(shown, Text)
            view = pairs(answer) if shown is None else _told(shown)
            with self.console.capture() as capture:
                self.console.print(view, soft_wrap=is_soft)
            # Rich pads each row to the longest row, which may have thousands of characters.
            for line in capture.get().removesuffix("\n").split("\n"):
                self.console.file.write(f"{line.rstrip(' ')}\n")

    def note(self, words: str) -> None:
        """Print a note to standard error."""
        self.notes.print(Text(translate(words)), soft_wrap=True)


def console_for(*, stderr: bool) -> Console:
    """Return a console that does not truncate output to a file or pipe."""
    made = Console(stderr=stderr)
    if not made.is_terminal and "COLUMNS" not in os.environ:
        made.width = _PIPE_COLUMNS
    return made


def moment(at_ms: int | None) -> str:
    """Format a time for people, in the terminal's time zone."""
    if at_ms is None:
        return "-"
    return f"{datetime.fromtimestamp(at_ms / 1000, UTC).astimezone():%Y-%m-%d %H:%M:%S %Z}"


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], title: str = "") -> Table:
    """Return a table. Cells are plain text: users' texts are never markup."""
    made = Table(title=translate(title) or None, title_justify="left")
    for number, column in enumerate(columns):
        # Don't wrap the first column: operators copy its value into the next command.
        made.add_column(translate(column), overflow="fold", no_wrap=number == 0)
    for row in rows:
        cells = zip(columns, map(str, row), strict=True)
        made.add_row(*(Text(translate(cell) if name in _OURS else cell) for name, cell in cells))
    return made


def _told(view: RenderableType) -> RenderableType:
    """Return a view in the reader's language. Tables are already translated."""
    if isinstance(view, Text):
        return Text(translate(view.plain), style=view.style)
    if isinstance(view, Group):
        return Group(*map(_told, view.renderables))
    return view


def log_line(line: Mapping[str, Any]) -> str:
    """Return a log entry as one line of text, with only the last line of a stack trace."""
    if set(line) == {"message"}:
        return str(line["message"])
    traced = {name: line[name].splitlines()[-1] for name in ("exception",) if line.get(name)}
    return json.dumps({**line, **traced}, ensure_ascii=False)


def plot(values: Sequence[float], width: int = 60) -> str:
    """Draw the newest values as bars, scaled to the highest one."""
    newest = list(values)[-width:]
    top = max(newest, default=0) or 1
    return "".join(_BARS[round(value / top * (len(_BARS) - 1))] for value in newest)


def differences(listed: Sequence[Mapping[str, Any]]) -> RenderableType:
    """Return a table of the differences."""
    columns = ("rule", "subject", "what", "expected", "actual")
    return table(columns, ([each[name] for name in columns] for each in listed), "Differences")


def pairs(answer: Any) -> RenderableType:  # noqa: ANN401 - any JSON
    """Return a table of an object's fields, with amounts and times formatted for people."""
    if not isinstance(answer, dict):
        return Text(json.dumps(answer, ensure_ascii=False))
    made = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    made.add_column(no_wrap=True)
    made.add_column(overflow="fold")
    for name, value in answer.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        if name.endswith(("_at_ms", "until_ms")) and isinstance(value, int):
            text = f"{value} ({moment(value)})"
        elif name.endswith("_fen") and isinstance(value, int):
            text = f"{value} ({money(value)})"
        elif name in _OURS:
            text = translate(text)
        made.add_row(Text(translate(name), style="bold"), Text(text))
    return made
