from __future__ import annotations

import pytest

from tests.faults.mutants import MUTANTS
from tests.faults.mutants.mutant import ROOT, Mutant


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_finds_the_text_that_it_replaces(mutant: Mutant) -> None:
    text = (ROOT / mutant.file).read_text()

    assert mutant.changed(text) != text
