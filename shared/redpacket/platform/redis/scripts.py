"""Loader of the Lua scripts."""

from __future__ import annotations

import re
from pathlib import Path

LUA_FOLDER = Path(__file__).parents[2] / "lua"

_INCLUDE = re.compile(r"^-- @include (\S+)$", re.MULTILINE)
_HEADER = re.compile(r"--\[\[.*?\]\]\n", re.DOTALL)
_COMMENT = re.compile(r"^\s*--.*\n", re.MULTILINE)


def read_script(name: str) -> str:
    """Return a script with includes spliced in and comments removed."""
    source = (LUA_FOLDER / f"{name}.lua").read_text()
    shebang, _, body = source.partition("\n")
    body = _INCLUDE.sub(lambda match: (LUA_FOLDER / f"{match[1]}.lua").read_text(), body)
    return f"{shebang}\n" + _COMMENT.sub("", _HEADER.sub("", body))
