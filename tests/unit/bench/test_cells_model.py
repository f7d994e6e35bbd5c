"""The model of money across cells, in its small form: without backups and restores."""

import pytest

from bench.cells_model import RULES, explore

OF_RESTORES = {"fence", "ack_epoch", "replay", "adopt", "statements", "closed"}


def test_money_is_conserved_and_every_state_comes_to_rest() -> None:
    explored = explore(restores=False)

    assert (explored.violation, explored.path, explored.stuck) == ("", (), 0)
    assert explored.states > 100


@pytest.mark.parametrize("rule", sorted(RULES.keys() - OF_RESTORES))
def test_each_rule_is_needed(rule: str) -> None:
    explored = explore(frozenset(RULES) - {rule}, restores=False)

    assert explored.violation
    assert explored.path[0] == "send"
