"""Campaigns, switches, limits, splits and proofs."""

from __future__ import annotations

from tests.faults.mutants.mutant import (
    Mutant,
)

MUTANTS = [
    # Conditions of campaigns
    Mutant("a budget is overspent", "CAN_SPEND", " AND budget_left_fen >= :spent", ""),
    Mutant("a campaign that is off gives", "CAN_SPEND", "#status = :on AND ", ""),
    Mutant("a campaign that is over gives", "CAN_SPEND", "ends_at_ms >= :later_ms AND ", ""),
    Mutant(
        "a packet leaves the budget as it is",
        "spend",
        "change_fen=-spent_fen",
        "change_fen=0",
    ),
    Mutant(
        "a budget is lowered below what was spent",
        "DynamoCampaigns.edit",
        'condition=f"{IS_AS_READ} AND {CAN_GIVE_UP}"',
        "condition=IS_AS_READ",
    ),
    Mutant(
        "an edit undoes another",
        "campaigns:IS_AS_READ",
        'IS_AS_READ = "version = :read_version"',
        'IS_AS_READ = "version >= :read_version"',
    ),
    Mutant(
        "an edit gives back what was spent meanwhile",
        "DynamoCampaigns.edit",
        "SET budget_left_fen = budget_left_fen + :change_fen,",
        "SET budget_left_fen = :budget_fen,",
    ),
    # Splits and proofs
    Mutant(
        "the seed is revealed while shares are free",
        "read_proof:read_proof",
        "if packet.status is not PacketStatus.CLOSED and not _is_emptied(packet, packets):",
        "if packet is None:",
    ),
    Mutant(
        "the last share alone reveals the seed",
        "_is_taken",
        "return sum(share.fate is Fate.CLAIMED for share in shares) == part_size(packet, part)",
        "return True",
    ),
    Mutant(
        "the sum of a bell is not repaired",
        "_bell",
        "32) + 1 >> 1))\n    return _repaired(amounts, units)",
        "32) + 1 >> 1))\n    return amounts",
    ),
    Mutant(
        "a cap cuts the range of a live share",
        "_draw_block",
        "is_room = room < left",
        "is_room = False",
    ),
    Mutant("a split is not shuffled", "presplit", "    _shuffle(amounts, words)\n", ""),
    # Switches and limits
    Mutant(
        "the sweep queues claims while payouts are off",
        "requeue_claims.is_allowed",
        "            return may_go_on()\n",
        "            return True\n",
    ),
    Mutant(
        "refunds that are switched off go on with the next chunk",
        "expire_packets",
        " or not is_allowed()",
        "",
    ),
    Mutant(
        "a switch is forgotten while its table is away",
        "CachedSwitches.is_on",
        "if seen.is_known:",
        "if True:",
    ),
    Mutant(
        "claims that arrive while payouts are off are forgotten",
        "delay_claims",
        "    payouts.put(waiting, delay_s=_DELAY_S)\n",
        "",
    ),
    Mutant(
        "one more than the burst is let through",
        "limit_take.lua",
        "if wait_ms > 0 then",
        "if wait_ms > interval_ms then",
    ),
]
