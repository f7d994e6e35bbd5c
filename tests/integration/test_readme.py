"""The commands of the READMEs do on the deployed stack what they say."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from local.places import ROOT
from local.stack import Stack

READMES = sorted(ROOT.glob("README*.md"))
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
