"""Who may change what as an operator, and what is noted of it."""

from __future__ import annotations

from tests.faults.mutants.mutant import Mutant

MUTANTS = [
    # Duties
    Mutant(
        "who operates changes budgets",
        "edit_campaign:_check_duties",
        "operator.require(Duty.TREASURY)",
        "pass",
    ),
    Mutant(
        "the treasury changes plans",
        "edit_campaign:_check_duties",
        "operator.require(Duty.OPERATE)",
        "pass",
    ),
    Mutant(
        "who operates stocks cash",
        "_duty_of_stock",
        "return Duty.TREASURY if prize.kind is PrizeKind.PACKET else Duty.OPERATE",
        "return Duty.OPERATE",
    ),
    Mutant(
        "any scope opens every route of operators",
        "HttpRequest.require_scope",
        "if self.scopes.isdisjoint(scopes):",
        "if not self.scopes:",
    ),
    # The journal
    Mutant(
        "a deposit leaves no row in the journal",
        "DynamoDeposits.deposit",
        "beside = people + note_action(self._journal, action)",
        "beside = people",
    ),
    Mutant(
        "an edit leaves no row in the journal",
        "DynamoCampaigns.edit",
        "note_action(self._journal, action)",
        "[]",
    ),
    Mutant(
        "stock leaves no row in the journal",
        "DynamoDraws.put_prize",
        "writes += [Guarded(row, never_refused) for row in noted]",
        "",
    ),
    Mutant(
        "a packet of a campaign leaves no row in the journal",
        "DynamoFunding.fund",
        "beside += note_action(self._journal, action)",
        "",
    ),
    Mutant(
        "a switch is turned before it is noted",
        "turn_switch:turn_switch",
        "        actions.note(_action(state, before))\n        switches.put(state)\n",
        "        switches.put(state)\n        actions.note(_action(state, before))\n",
    ),
    # Four eyes
    Mutant(
        "many small deposits need no approval",
        "FourEyes.spend",
        "before.sum_fen(now_ms) + amount_fen > self.approval_fen",
        "amount_fen > self.approval_fen",
    ),
    Mutant(
        "two at once move twice what one operator may",
        "spend_allowance",
        "condition=IS_AS_READ, read_version=spent.version - 1",
        'condition="attribute_exists(pk)"',
    ),
    Mutant(
        "a deposit alone is not counted",
        "DynamoDeposits.deposit",
        "allowed = spend_allowance(self._approvals, spent)",
        "allowed = []",
    ),
    Mutant(
        "a budget alone is not counted",
        "DynamoCampaigns.edit",
        "+ spend_allowance(self._approvals, spent)",
        "",
    ),
    Mutant(
        "cash alone is not counted",
        "DynamoDraws.put_prize",
        "for row in spend_allowance(self._approvals, spent):",
        "for row in []:",
    ),
    Mutant(
        "operators approve for themselves, and payees too",
        "decide_approval:_decide",
        "if approver.user_id in {approval.operator_id, approval.payee_id}:",
        "if False:",
    ),
    Mutant(
        "payees approve",
        "decide_approval:_decide",
        "{approval.operator_id, approval.payee_id}",
        "{approval.operator_id}",
    ),
    Mutant(
        "what was rejected is approved",
        "IS_AWAITING",
        '"#status = :awaiting"',
        '"#status <> :nothing"',
    ),
    Mutant(
        "an approval never ends",
        "Approval.status_at",
        "now_ms >= self.asked_at_ms + LIFE_MS",
        "False",
    ),
    Mutant(
        "a budget is applied to another version than the one that was shown",
        "apply_approval",
        "asked.plan, asked.budget_fen, asked.version,",
        "asked.plan, asked.budget_fen, None,",
    ),
    # Winners
    Mutant(
        "a unit that was handed over is forfeited, and one comes back twice",
        "IS_UNDECIDED",
        '"draw_id = :draw_id AND attribute_not_exists(winner_status)"',
        '"draw_id = :draw_id"',
    ),
    Mutant(
        "a forfeited unit does not come back",
        "decide_winner:_write",
        "total=prize.total + 1",
        "total=prize.total",
    ),
    Mutant(
        "a unit comes back and keeps its winner waiting",
        "DynamoDraws.put_prize",
        "writes.append(Guarded(unit, lambda _: _NotPut.UNIT_DECIDED))",
        "pass",
    ),
    # Lists
    Mutant(
        "a spreadsheet runs what a user wrote",
        "csv_pages:_cell",
        "text.startswith(_FORMULA)",
        "False",
    ),
]
