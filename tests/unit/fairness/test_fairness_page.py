"""Examples in docs/fairness.md and docs/reference/splits.md, recomputed."""

import re
from pathlib import Path

import pytest

from redpacket.packets.split import Split, Terms, amounts_fen
from redpacket.verify.command import TRUE, main

ROOT = Path(__file__).parents[3]
FAIRNESS = ROOT / "docs" / "fairness.md"
SPLITS = ROOT / "docs" / "reference" / "splits.md"


def test_the_worked_example_is_verified_as_the_page_states(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = FAIRNESS.read_text()
    (proof,) = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    (outputs,) = re.findall(r"prints:\n\n```text\n(.*?)```", page, re.DOTALL)
    file = tmp_path / "proof.json"
    file.write_text(proof)

    assert main([str(file)]) == TRUE
    assert capsys.readouterr().out == outputs


def test_the_examples_of_every_split_are_correct() -> None:
    # An independent JavaScript program, written from the page, computed the same amounts.
    page = SPLITS.read_text()
    rows = re.findall(r"^\| `(rp1,[^`]+)` \| `(\w+)` \| ([\d, ]+) \|$", page, re.MULTILINE)

    assert {Terms.parse(text).split for text, _, _ in rows} == set(Split)
    for text, commitment, amounts in rows:
        terms = Terms.parse(text)
        assert terms.commitment.startswith(commitment)
        assert ", ".join(map(str, amounts_fen(terms))) == amounts


def test_the_figures_cover_every_split() -> None:
    page = SPLITS.read_text()
    table = page[page.index("<!-- gallery:begin -->") : page.index("<!-- gallery:end -->")]

    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == set(Split) - {Split.EQUAL}
