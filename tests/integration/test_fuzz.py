"""A few hundred fuzzed requests; `make fuzz` sends as many as you like."""

from __future__ import annotations

from local.stack import Stack
from tests.fuzz import Fuzz

CASES = 300
SEED = 1


def test_every_answer_to_a_fuzzed_request_is_of_the_contract(stack: Stack) -> None:
    with Fuzz(stack, SEED) as fuzz:
        report = fuzz.run(CASES)

    assert report.case_count == CASES
    assert report.failure_count == 0, f"seed {SEED}\n{report}"
