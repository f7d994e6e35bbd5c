"""Part of `make faults-real`: each suite on real processes, with its naive control.

The Makefile runs it after the tests on stacks, because real processes and threads need the cores.
"""

import pytest

from tests.faults.real import SUITES, run_suite


@pytest.mark.parametrize("suite", SUITES)
def test_faults_of_real_processes_conserve_every_fen(suite: str) -> None:
    figures = run_suite(suite, is_quick=True)

    assert figures.violations == []
    assert figures.naive_violations > 0, "the control holds: this suite proves nothing"
