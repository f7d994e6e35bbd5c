"""The commands of the READMEs do on the deployed stack what they say."""

import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from local.places import ROOT
from local.stack import Stack
from tests.integration.conftest import MakeUser

READMES = sorted(ROOT.glob("README*.md"))
TUTORIALS = [ROOT / "docs" / folder / "first-campaign.md" for folder in ("guide", "zh")]
PYTHONPATH = f"{ROOT / 'shared'}:{ROOT / 'cli'}"
_SHELL = re.compile(r"^ *```sh\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)
_TOUR = re.compile(r"^```sh\n(API=.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.mark.skipif(not shutil.which("curl"), reason="no curl on this machine")
@pytest.mark.parametrize("readme", READMES, ids=lambda readme: readme.name)
def test_the_tour_of_the_readme_moves_money(readme: Path, stack: Stack) -> None:
    (tour,) = _TOUR.findall(readme.read_text(encoding="utf-8"))
    _, _, commands = tour.partition("\n")
    # Each README has its own names and keys, and both may run on one stack.
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


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.parent.name)
def test_the_tutorial_ends_with_a_winner(
    page: Path, stack: Stack, a_user: MakeUser, tmp_path: Path
) -> None:
    blocks = _SHELL.findall(page.read_text(encoding="utf-8"))
    # Both pages may run on one stack.
    name = page.parent.name
    commands = "".join(map(textwrap.dedent, blocks))
    commands = re.sub(r"\bnew-year\b(?!\.yaml)", f"new-year-{name}", commands)
    commands = commands.replace("rain-1", f"rain-{name}")
    a_user("operator", funds_fen=200_000)
    command = tmp_path / "redpacket"
    command.write_text(
        f'#!/bin/sh\nexec {sys.executable} -m redpacket_cli.main --state {stack.state_dir} "$@"\n'
    )
    command.chmod(0o755)

    done = subprocess.run(
        ["bash", "-eu", "-o", "pipefail", "-c", commands],  # noqa: S607
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": PYTHONPATH},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "winners.csv").read_text(encoding="utf-8-sig").count("phone.1") == 1
    assert "handed_over" in done.stdout
