"""The commands in the READMEs and in a tutorial have the documented effects on a deployed stack."""

import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path

import pytest
from openpyxl import load_workbook

from local.places import ROOT
from local.stack import Stack
from tests.integration.conftest import MakeUser

READMES = sorted(ROOT.glob("README*.md"))
PYTHONPATH = f"{ROOT / 'shared'}:{ROOT / 'cli'}"
_SHELL = re.compile(r"^ *```sh\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)
_TOUR = re.compile(r"^```sh\n(API=.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.mark.skipif(not shutil.which("curl"), reason="no curl on this machine")
@pytest.mark.parametrize("readme", READMES, ids=lambda readme: readme.name)
def test_the_tour_of_the_readme_moves_money(readme: Path, stack: Stack) -> None:
    (tour,) = _TOUR.findall(readme.read_text(encoding="utf-8"))
    _, _, commands = tour.partition("\n")
    # Give each README its own names and keys, because both may run on one stack.
    mark = readme.stem.lower().replace(".", "-")
    for word in ("alice", "bob", "for-alice-1", "new-year-1"):
        commands = commands.replace(f'"{word}"', f'"{word}-{mark}"')
        commands = commands.replace(f": {word}'", f": {word}-{mark}'")

    done = subprocess.run(
        ["bash", "-eu", "-o", "pipefail", "-c", f"API={stack.api}\n{commands}"],  # noqa: S607
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )

    deposit, claim, record, me = [json.loads(line) for line in done.stdout.splitlines()]
    assert deposit["balance_fen"] == 100_000
    assert claim["outcome"] == "claimed"
    assert record["total_fen"] == 8888
    assert record["mine"]["amount_fen"] == claim["amount_fen"]
    assert me["nickname"] == "Bob"
    assert me["balance_fen"] in {0, claim["amount_fen"]}


def run_tutorial(page: Path, stack: Stack, folder: Path) -> str:
    """Run a tutorial's command blocks as if pasted into a terminal; return their output."""
    blocks = _SHELL.findall(page.read_text(encoding="utf-8"))
    # The tutorial's translations run on the same stack, so give each its own names.
    commands = re.sub(r"\bnew-year\b(?!\.yaml)", campaign_of(page), _dedented(blocks))
    commands = commands.replace("rain-1", f"rain-{page.parent.name}")
    command = folder / "redpacket"
    command.write_text(
        f'#!/bin/sh\nexec {sys.executable} -m redpacket_cli.main --state {stack.state_dir} "$@"\n'
    )
    command.chmod(0o755)

    done = subprocess.run(
        ["bash", "-eu", "-o", "pipefail", "-c", commands],  # noqa: S607
        cwd=folder,
        env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "PYTHONPATH": PYTHONPATH},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def campaign_of(page: Path) -> str:
    return f"new-year-{page.parent.name}"


def _dedented(blocks: Iterable[str]) -> str:
    return "".join(map(textwrap.dedent, blocks))


def test_the_chinese_tutorial_ends_with_a_winner(
    stack: Stack, a_user: MakeUser, tmp_path: Path
) -> None:
    a_user("operator", funds_fen=200_000)

    printed = run_tutorial(ROOT / "docs" / "zh" / "first-campaign.md", stack, tmp_path)

    head, winner = load_workbook(tmp_path / "winners.xlsx").active.iter_rows(values_only=True)
    assert dict(zip(head, winner, strict=True))["unit"] == "phone.1"
    assert "handed_over" in printed
