"""What operators edit: campaigns, prizes and their stock, while people draw."""

from __future__ import annotations

from tests.faults.mutants.mutant import of_draws

MUTANTS = [
    of_draws(
        "a refusal by a table that was edited is told",
        "judge_answer",
        "decided_by = table_of(ask, outcome, table, ports)",
        "decided_by = table if outcome.status in REFUSALS"
        " else table_of(ask, outcome, table, ports)",
    ),
    of_draws(
        "a refusal that comes too late offers a unit again",
        "judge_answer:table_of",
        "    if outcome.status not in REFUSALS:\n",
        "    if True:\n",
    ),
    of_draws(
        "a refunded unit ends a campaign that goes on",
        "record_draw:record_draw",
        "recorded is RecordDrawStatus.UNIT_REFUNDED and is_over",
        "recorded is RecordDrawStatus.UNIT_REFUNDED",
    ),
    of_draws(
        "units that were refunded count as won",
        "_place_at",
        "sum(fate == Fate.REFUNDED for no, fate in fates.items() if no <= until_no)",
        "0",
    ),
    of_draws(
        "an edit that is repeated by its version is refused",
        "edit_campaign:edit_campaign",
        "is_done = _is_made(plan, budget_fen, version, before)",
        "is_done = False",
    ),
    of_draws(
        "another edit is taken for a repeat",
        "edit_campaign:_is_made",
        "        and _planned(found) == _planned(plan)\n",
        "",
    ),
    of_draws(
        "another budget is taken for a repeat",
        "edit_campaign:_is_made",
        "        and budget_fen in {None, found.budget_fen}\n",
        "",
    ),
    of_draws(
        "cash does not follow an edit of the end",
        "edit_campaign:edit_campaign",
        "        _end_with_campaign(plan.campaign_id, draws, packets)\n",
        "",
    ),
    of_draws(
        "an edit that is cut off leaves cash that ends too early",
        "edit_campaign:edit_campaign",
        "_keep_cash(table, after, before, draws, packets)",
        "pass",
    ),
    of_draws(
        "a campaign is extended whose cash has gone back",
        "_check_cash_is_there",
        "if packet.status is not PacketStatus.OPEN and not packet.is_emptied:",
        "if False:",
    ),
    of_draws(
        "a campaign is extended while its cash goes back",
        "_keep_cash",
        "        _check_cash_is_there(packet_ids, packets)\n    except",
        "        pass\n    except",
    ),
    of_draws(
        "a refused extension leaves cash that ends too late",
        "_keep_cash",
        "packets.reschedule(packet_id, before.ends_at_ms, table.version + 1)",
        "pass",
    ),
    of_draws(
        "a refused extension leaves cash at an end that another edit moved",
        "_keep_cash",
        "        _end_with_campaign(table.campaign.campaign_id, draws, packets)\n",
        "",
    ),
    of_draws(
        "a campaign whose cash was all won is not extended",
        "_check_cash_is_there",
        " and not packet.is_emptied",
        "",
    ),
    of_draws(
        "an older table sets the end of cash",
        "IS_OPEN_AND_NO_NEWER",
        " AND end_version <= :version",
        " AND attribute_exists(end_version)",
    ),
    of_draws(
        "an edit under way lets cash end earlier",
        "DynamoPackets.reschedule",
        "        if only_later:\n",
        "        if False:\n",
    ),
    of_draws(
        "an edit tells an old budget",
        "edit_campaign:edit_campaign",
        "return get_campaign(plan.campaign_id, campaigns=campaigns), False",
        "return (before if _is_made(plan, budget_fen, version, before) else after), False",
    ),
    of_draws(
        "units are put with a packet that has ended",
        "IS_OPEN_AND_NO_NEWER",
        '"#status = :open AND end_version',
        '"#status <> :version AND end_version',
    ),
    of_draws(
        "units are put with a packet of an older end",
        "DynamoDraws.put_prize",
        "*self._last_until_the_end(prize, before, table),",
        "",
    ),
    of_draws(
        "a packet that went back is taken for the units' money",
        "_fund",
        "if found and found.status is PacketStatus.OPEN:",
        "if found:",
    ),
    of_draws(
        "a second operator pays for a prize again",
        "put_prize.edited",
        '_Asked(f"{plan.campaign_id}#{plan.prize_id}", "put")',
        '_Asked(operator.user_id, "put")',
    ),
    of_draws(
        "one key for two prizes is a repeat",
        "edit_prize:change_stock",
        "body_hash=_digest(campaign_id, prize_id, request.body_hash)",
        "body_hash=request.body_hash",
    ),
    of_draws(
        "a repeat of a change of stock changes it again",
        "DynamoDraws._put",
        "        if request is None:\n",
        "        if True:\n",
    ),
    of_draws(
        "a repeat of a change of stock is asked the prize's version",
        "edit_prize:change_stock",
        "    if changed := ports.draws.find_put(request):\n        return changed\n",
        "",
    ),
    of_draws(
        "an edit of a prize that is repeated by its version is refused",
        "put_prize.edited",
        "if before and _is_made(plan, version, before):",
        "if False:",
    ),
    of_draws(
        "another edit of a prize is taken for a repeat",
        "edit_prize:_is_made",
        "found.version == version + 1 and found == made",
        "found.version == version + 1",
    ),
    of_draws(
        "cash above the limit is added to",
        "_funded",
        "    _check_amount(prize, ports)\n",
        "",
    ),
    of_draws(
        "a prize above the limit is put",
        "put_prize.edited",
        "        _check_amount(plan, ports)\n",
        "",
    ),
    of_draws(
        "a unit of before midnight stays with a draw that died",
        "record_draw:record_draw",
        "        _forget_yesterdays(ask, table, ports)\n",
        "",
    ),
]
