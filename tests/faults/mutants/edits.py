"""What operators edit: campaigns, prizes and their stock, while people draw."""

from __future__ import annotations

from tests.faults.mutants.mutant import DRAW, DRAWS, of_draws

MUTANTS = [
    of_draws(
        "a refusal by a table that was edited is told",
        DRAW,
        "decided_by = _table_of(ask, outcome, table, desk)",
        "decided_by = table if outcome.status in _REFUSALS"
        " else _table_of(ask, outcome, table, desk)",
    ),
    of_draws(
        "a refusal that comes too late offers a unit again",
        DRAW,
        "    if outcome.status not in _REFUSALS:\n",
        "    if True:\n",
    ),
    of_draws(
        "a refunded unit ends a campaign that goes on",
        DRAW,
        "recorded is RecordDrawStatus.UNIT_REFUNDED and is_over",
        "recorded is RecordDrawStatus.UNIT_REFUNDED",
    ),
    of_draws(
        "units that were refunded count as won",
        DRAWS,
        "sum(fate == Fate.REFUNDED for _, fate in units)",
        "0",
    ),
]
