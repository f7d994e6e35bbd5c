"""Operators of the mutation tool: each makes the mutants that it should, and a test catches one."""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from parso.grammar import load_grammar

from local.places import ROOT
from tests.mutants import _OURS, SETTINGS

SAMPLE = ROOT / "shared" / "redpacket" / "ledger" / "dynamodb" / "posting.py"
OPERATORS = {each.__name__: each() for each in _OURS}

CONDITION = """IS_MINE = "attribute_exists(pk) AND owner = :me OR left > :none"
SHOWN = "SET owner = :me"
"""
ROLE = """Description: a stack
Resources:
  Function:
    - Sid: Read
      Action: [dynamodb:GetItem, dynamodb:Query]
      Resource: !GetAtt Table.Arn
      Condition:
        StringEquals: { dynamodb:Attributes: [pk, sk] }
"""


def _changed(operator: str, text: str) -> list[str]:
    """Return the mutants that an operator makes from *text*."""
    changed, made = OPERATORS[operator], []
    tree: Any = load_grammar().parse(text)
    for module in _nodes(tree):
        for index, _ in enumerate(changed.mutation_positions(module)):
            new = changed.mutate(module, index).value
            old = module.get_code(include_prefix=False)
            made.append(text.replace(old, new, 1))
    return made


def _nodes(node: Any) -> list[Any]:
    children = getattr(node, "children", [])
    return [node, *(below for child in children for below in _nodes(child))]


def test_each_term_of_a_condition_is_dropped_and_an_update_stays() -> None:
    made = _changed("drop_term", CONDITION)

    assert [text.splitlines()[0].partition(" = ")[2] for text in made] == [
        '"owner = :me OR left > :none"',
        '"attribute_exists(pk) OR left > :none"',
        '"attribute_exists(pk) AND owner = :me"',
    ]
    assert {text.splitlines()[1] for text in made} == {CONDITION.splitlines()[1]}


def test_each_right_and_each_limit_of_a_role_is_dropped() -> None:
    made = _changed("drop_right", ROLE)

    assert len(set(made)) == len(made) == 6
    for gone in ("GetItem", "Query", "Table.Arn", "pk", "sk", "Condition"):
        assert any(gone in ROLE and ROLE.count(gone) > text.count(gone) for text in made), gone


def test_every_listed_module_exists() -> None:
    package = ROOT / "shared" / "redpacket"

    assert [pattern for pattern in SETTINGS["money"] if not list(package.glob(pattern))] == []


@pytest.mark.parametrize("is_changed", [True, False])
def test_a_dropped_condition_is_caught_and_an_unchanged_copy_passes(
    tmp_path: Path, *, is_changed: bool
) -> None:
    text = SAMPLE.read_text(encoding="utf-8")
    made = [each for each in _changed("drop_term", text) if "balance_fen >=" not in each]
    copy = tmp_path / "redpacket"
    shutil.copytree(ROOT / "shared" / "redpacket", copy)
    if is_changed:
        (copy / "ledger" / "dynamodb" / "posting.py").write_text(made[0], encoding="utf-8")

    command = [sys.executable, "-m", "pytest", "-x", "-q"]
    tests = "tests/unit/packets/test_send_packet.py"
    done = subprocess.run(
        [*command, f"--override-ini=pythonpath={tmp_path} cli .", tests],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )

    assert done.returncode == int(is_changed), done.stdout
