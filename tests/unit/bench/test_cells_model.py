"""The model of money across cells, in its small form: without backups and restores."""

import pytest

from bench.cells_model import RULES, explore

OF_RESTORES = {"fence", "ack_epoch", "replay", "adopt", "statements", "closed"}


def test_money_is_conserved_and_every_state_comes_to_rest() -> None:
    found = explore(restores=False)

    assert (found.violation, found.path, found.stuck) == ("", (), 0)
    assert found.states > 100


@pytest.mark.parametrize("rule", sorted(RULES.keys() - OF_RESTORES))
def test_each_rule_is_needed(rule: str) -> None:
    found = explore(frozenset(RULES) - {rule}, restores=False)

    assert found.violation
    assert found.path[0] == "send"
