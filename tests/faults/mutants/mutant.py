"""A mutant: a condition of one function, and what stands there instead."""

from __future__ import annotations

import ast
import io
import textwrap
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[3]
SOURCES = ("shared/redpacket", "functions")
LUA = ROOT / "lua"

_LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
_CLOSING = {")", "]", "}"}


@dataclass(frozen=True, slots=True)
class Mutant:
    """One safety condition less: within *where*, *old* becomes *new*.

    *where* names a function, method or constant of the product, wherever it stands
    (`RedisClaims.grab`; `module:name` where two modules have the name), or a Lua script
    (`packet_grab.lua`). *old* is found by its tokens: layout and comments don't matter.
    """

    name: str
    where: str
    old: str
    new: str
    of: str = "packets"
    """The schedules that it plays."""

    @property
    def file(self) -> Path:
        """The file that it changes, from the root."""
        return _place_of(self.where).file

    def changed(self) -> str:
        """Return what its file becomes. Raises LookupError where nothing is found."""
        place = _place_of(self.where)
        text = (ROOT / place.file).read_text(encoding="utf-8")
        part = text[place.first : place.last]
        spans = list(token_spans(part, self.old)) if self.file.suffix == ".py" else []
        is_code = bool(spans)
        spans = spans or list(_text_spans(part, self.old))
        if not spans:
            raise LookupError(f"{self.name}: {self.where} has not {self.old!r}")
        for first, last in reversed(spans):
            new = self._indented(part, first) if is_code else self.new
            part = part[:first] + new + part[last:]
        return text[: place.first] + part + text[place.last :]

    def _indented(self, text: str, at: int) -> str:
        """Return the new code as it must stand *at* a place: its lines move as the first one."""
        first, *others = self.new.strip().splitlines() or [""]
        own = len(self.old) - len(self.old.lstrip(" "))
        line = text[text.rfind("\n", 0, at) + 1 : at]
        shift = len(line) - own if own and not line.strip() else 0
        return "\n".join([first, *(_shifted(line, shift) for line in others)])


def _shifted(line: str, shift: int) -> str:
    return " " * shift + line if shift >= 0 else line[-shift:]


class _Place(NamedTuple):
    """Where a name is defined."""

    file: Path
    first: int
    last: int


@cache
def _place_of(where: str) -> _Place:
    if where.endswith(".lua"):
        path = next(LUA.rglob(where))
        return _Place(path.relative_to(ROOT), 0, len(path.read_text(encoding="utf-8")))
    module, _, name = where.rpartition(":")
    found = [place for place in _places().get(name, []) if module in {"", place.file.stem}]
    if len(found) != 1:
        raise LookupError(f"{where} is defined {len(found)} times")
    return found[0]


@cache
def _places() -> dict[str, list[_Place]]:
    places: dict[str, list[_Place]] = {}
    for source in SOURCES:
        for path in sorted((ROOT / source).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            starts = _line_starts(text)
            for name, node in _definitions(ast.parse(text), ""):
                assert node.end_lineno
                decorators = [one.lineno for one in getattr(node, "decorator_list", [])]
                first = starts[min([node.lineno, *decorators]) - 1]
                place = _Place(path.relative_to(ROOT), first, starts[node.end_lineno])
                places.setdefault(name, []).append(place)
    return places


def _definitions(scope: ast.AST, prefix: str) -> Iterator[tuple[str, ast.stmt]]:
    """Yield the functions, classes and constants of a module, by their dotted names."""
    for node in ast.iter_child_nodes(scope):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield prefix + node.name, node
            yield from _definitions(node, f"{prefix}{node.name}.")
        elif isinstance(node, ast.Assign | ast.AnnAssign) and not isinstance(
            scope, ast.FunctionDef
        ):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Name):
                    yield prefix + target.id, node


def _line_starts(text: str) -> list[int]:
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    return starts


class _Token(NamedTuple):
    text: str
    first: int
    last: int


def _tokens(code: str) -> list[_Token]:
    """Return what a fragment of Python says, without its layout."""
    starts = _line_starts(code)
    found: list[_Token] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(code).readline):
            if token.type not in _LAYOUT:
                first = starts[token.start[0] - 1] + token.start[1]
                last = starts[token.end[0] - 1] + token.end[1]
                found.append(_Token(token.string, first, last))
    except (tokenize.TokenError, IndentationError, SyntaxError):
        # A fragment may leave brackets open; all before its end was read.
        pass
    nexts = [token.text for token in [*found[1:], _Token("", 0, 0)][: len(found)]]
    return [
        token
        for token, after in zip(found, nexts, strict=True)
        if not (token.text == "," and after in _CLOSING)
    ]


def token_spans(text: str, old: str) -> Iterator[tuple[int, int]]:
    there, wanted = _tokens(text), _tokens(textwrap.dedent(old).strip())
    words = [token.text for token in wanted]
    start = 0
    while words and start + len(words) <= len(there):
        if [token.text for token in there[start : start + len(words)]] == words:
            yield there[start].first, there[start + len(words) - 1].last
            start += len(words)
        else:
            start += 1


def _text_spans(text: str, old: str) -> Iterator[tuple[int, int]]:
    """Find a part of a string, such as a clause of a condition."""
    start = text.find(old)
    while old and start >= 0:
        yield start, start + len(old)
        start = text.find(old, start + len(old))


def of_draws(name: str, where: str, old: str, new: str) -> Mutant:
    return Mutant(name, where, old, new, of="draws")


ANYTHING = 'condition="attribute_not_exists(nothing)"'


def overwritten(name: str, where: str, row: str) -> Mutant:
    """Put a row of a draw whatever is there."""
    return of_draws(name, where, f"{row})", f"{row}, {ANYTHING})")


def recreated(name: str, where: str, operation: str, of: str = "packets") -> Mutant:
    """Create a row whatever is there."""
    condition = 'ConditionExpression="attribute_not_exists(nothing)"'
    return Mutant(
        name, where, operation, f'dict(Update=dict({operation}["Update"], {condition}))', of
    )
