"""Command blocks in the documents, for tests that run the commands as a reader would."""

import re
import subprocess
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from local.places import ROOT

RUNBOOK = ROOT / "docs" / "runbook"
PAGES = sorted(RUNBOOK.glob("*.md"))
NEEDS_AWS = "AWS only:"
"""Marker in the paragraph above a block that a local stack cannot run."""

_BLOCK = re.compile(r"^ *```sh\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)
_ASSIGNED = re.compile(r"^(?:export )?(?:[A-Z_]+=[^\s$\"(]+(?: +|$))+", re.MULTILINE)
_LINE, _FAILED = "\x1e", "\x1f"
_TIMEOUT_S = 300


@dataclass(frozen=True, slots=True)
class Block:
    """Commands of one block, with the expectations in its comments."""

    commands: str
    needs_aws: bool
    is_step: bool
    """Whether the commands are under **Do**, and so have an effect."""


@dataclass(frozen=True, slots=True)
class Ran:
    """Line of commands with its output and its exit codes other than 0."""

    line: str
    printed: str
    codes: list[int]


def blocks_of(page: Path) -> list[Block]:
    """Return a page's blocks of shell commands."""
    text = page.read_text("utf-8")
    return [
        Block(
            textwrap.dedent(found[1]),
            NEEDS_AWS in text[: found.start()].rstrip().rpartition("\n\n")[2],
            "**Do**" in text[: found.start()],
        )
        for found in _BLOCK.finditer(text)
    ]


def filled(commands: str, values: Mapping[str, str]) -> str:
    """Replace the values that a page assigns to variables with the values that a reader would copy.
    Raises KeyError for a variable without a value, and for a value without a variable.
    """
    left = set(values)

    def fill(assigned: re.Match[str]) -> str:
        names = re.findall(r"(?:^|\s)([A-Z_]+)=", assigned[0])
        left.difference_update(names)
        lead = "export " if assigned[0].startswith("export ") else ""
        return lead + " ".join(f"{name}={values[name]}" for name in names) + " "

    text = _ASSIGNED.sub(fill, commands)
    if left:
        raise KeyError(f"the page assigns nothing to {left}")
    return text


def run(commands: str, *, folder: Path, environment: Mapping[str, str], typed: str) -> list[Ran]:
    """Run commands in one shell; *typed* answers the commands that prompt."""
    lines = list(_lines(commands))
    script = f"exec 2>&1 3>&1\ntrap 'printf \"{_FAILED}$?{_FAILED}\" >&3' ERR\n"
    script += "".join(f"printf '{_LINE}'\n{line}\n" for line in lines)
    done = subprocess.run(
        ["bash", "-c", script],  # noqa: S607
        cwd=folder,
        env=dict(environment),
        input=typed,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        timeout=_TIMEOUT_S,
    )
    printed = done.stdout.split(_LINE)[1:]
    code = re.compile(f"{_FAILED}(\\d+){_FAILED}")
    return [
        Ran(line, code.sub("", text), [int(each) for each in code.findall(text)])
        for line, text in zip(lines, printed, strict=True)
    ]


def _lines(commands: str) -> Iterator[str]:
    """Yield the complete commands; a loop or a continued line is one command."""
    waiting = ""
    for line in commands.splitlines():
        waiting += f"{line}\n"
        is_loop = re.match(r"\s*for ", waiting) and not re.search(r"\bdone\b", waiting)
        if not (line.endswith("\\") or is_loop) and waiting.count("$(") <= waiting.count(")"):
            yield waiting.rstrip("\n")
            waiting = ""
