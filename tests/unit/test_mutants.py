"""Each mutant changes the product, and what it becomes is still a program."""

from __future__ import annotations

import ast

import pytest

from tests.faults.mutants import MUTANTS
from tests.faults.mutants.mutant import ROOT, Mutant, token_spans


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_finds_the_condition_that_it_removes(mutant: Mutant) -> None:
    before, after = (ROOT / mutant.file).read_text(), mutant.changed()

    assert after != before
    if mutant.file.suffix == ".py":
        assert ast.dump(ast.parse(after)) != ast.dump(ast.parse(before))


def test_a_condition_is_found_whatever_its_layout_is() -> None:
    text = "if (\n    is_open  # it is\n    and may_grab(user,\n)\n):\n    pass"

    [(first, last)] = token_spans(text, "    is_open and may_grab(user)")

    assert text[first:last].startswith("is_open  # it is")
    assert text[first:last].endswith(")")


def test_a_condition_that_is_gone_is_told() -> None:
    with pytest.raises(LookupError):
        Mutant("a name", "GrabStatus", "is_open", "True").changed()
    with pytest.raises(LookupError):
        Mutant("a name", "a_function_that_is_gone", "is_open", "True").changed()
