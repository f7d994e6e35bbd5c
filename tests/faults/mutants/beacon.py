"""The public beacon: which round decides, who believes it, what an operator may choose."""

from __future__ import annotations

from tests.faults.mutants.mutant import Mutant

MUTANTS = [
    Mutant(
        "a round may be known when seeds are chosen",
        "CampaignBeacon.round_of",
        "max(day_starts_at_ms, self.committed_at_ms)",
        "day_starts_at_ms",
    ),
    Mutant(
        "a day takes a round of the day before",
        "CampaignBeacon.round_of",
        "max(day_starts_at_ms, self.committed_at_ms)",
        "self.committed_at_ms",
    ),
    Mutant("a round comes at once", "CampaignBeacon.round_of", "+ MARGIN_MS", "+ 0"),
    Mutant(
        "a round may be before its time",
        "BeaconChain.first_round",
        "-(-since_ms //",
        "(since_ms //",
    ),
    Mutant(
        "a clock that is behind commits to known rounds",
        "NewRounds.committed_at_ms",
        "max(self._clock.now_ms(), self.chain.time_ms(newest_no))",
        "self._clock.now_ms()",
    ),
    Mutant(
        "a draw waits for no round",
        "draw_prize:_round_of",
        "return ports.rounds.recall(campaign.beacon.chain, round_no)",
        "return None",
    ),
    Mutant(
        "a point has nothing of the round",
        "draw_prize:_ask",
        "round_.randomness if round_ else NO_BEACON",
        "NO_BEACON",
    ),
    Mutant(
        "a crowd asks for a round before its time",
        "CachedRounds._read",
        "self._clock.now_ms() < chain.time_ms(key[1]) or ",
        "",
    ),
    Mutant(
        "a crowd asks for a late round each time",
        "CachedRounds._read",
        " or self._missed.find(key)",
        "",
    ),
    Mutant(
        "a forged round is kept",
        "DrandBeacon.fetch",
        "if self._key.has_signed(round_no, signature):",
        "if signature:",
    ),
    Mutant(
        "the key at infinity signs everything",
        "PublicKey.__init__",
        "len(key) != PUBLIC_KEY_BYTES or key[0] & _INFINITY_BIT",
        "len(key) != PUBLIC_KEY_BYTES",
    ),
    Mutant(
        "an edit turns the beacon on or off",
        "edit_campaign:_check_beacon",
        "if draw_beacon not in {None, before.draw_beacon}:",
        "if False:",
    ),
    Mutant(
        "an edit of the zone chooses another round",
        "edit_campaign:edit_campaign",
        "before.beacon or (table and table.prizes)",
        "table and table.prizes",
    ),
    Mutant(
        "an edit forgets the beacon",
        "edit_campaign:edit_campaign",
        "plan = replace(plan, beacon=before.beacon)",
        "pass",
    ),
    Mutant(
        "a campaign without a beacon says that it has one",
        "edit_campaign:_new_beacon",
        "if new_beacon is None and draw_beacon not in {None, DrawBeacon.NONE}:",
        "if False:",
    ),
    Mutant(
        "the commitment leaves the round open",
        "lottery:chain_commitment",
        ",{beacon}",
        "",
    ),
    Mutant(
        "the commitment leaves open who has a round",
        "CampaignBeacon.__str__",
        "{_PER_DRAW * self.is_per_draw}",
        "",
    ),
    Mutant(
        "the round of a single draw is known already",
        "CampaignBeacon.round_of_draw",
        "+ WAIT_MS",
        "- WAIT_MS",
    ),
    Mutant(
        "the odds of a single draw are those of its completion",
        "draw_prize:draw_prize",
        "ask = replace(ask, odds=begun.odds)",
        "pass",
    ),
    Mutant(
        "another number comes before the unfinished one",
        "Attempt.draw_no",
        "self.player.draw_count + 1",
        "self.player.draw_count + 1 + (self.begun is not None)",
    ),
    Mutant(
        "the round of a single draw can be replaced",
        "DynamoDraws.begin_draw",
        "put(self._draws, begun_row(begun))",
        'put(self._draws, begun_row(begun), condition="sk <> :none", none="")',
    ),
    Mutant(
        "a single draw waits for a round that is not asked for",
        "begin_draw:begin_draw",
        "rounds.want(round_no)",
        "pass",
    ),
    Mutant(
        "a single draw is written when its round may be known",
        "begin_draw:begin_draw",
        "if clock.now_ms() - named_at_ms > _WRITE_MS_MAX:",
        "if False:",
    ),
    Mutant(
        "a clock that is behind begins draws by known rounds",
        "begin_draw:begin_draw",
        "rounds.committed_at_ms()",
        "clock.now_ms()",
    ),
    Mutant(
        "a single draw begins that will be void",
        "begin_draw:begin_draw",
        "if due_ms >= day.ends_at_ms:",
        "if False:",
    ),
    Mutant(
        "a prize that is gone is won",
        "draw_prize.lua",
        "fixed_odds and prize_id and not can_win(",
        "false and prize_id and not can_win(",
    ),
    Mutant(
        "any draw may say that its prize was gone",
        "Draw.gone_prize_id",
        "self.prize or self.attempted_at_ms is None",
        "self.prize",
    ),
    Mutant(
        "a draw may differ from what was fixed of it",
        "BegunComparison._check_some",
        "if fixed is None or fixed != said:",
        "if fixed is None:",
    ),
    Mutant(
        "a draw needs nothing that was fixed",
        "BegunComparison._check_some",
        "if fixed is None or fixed != said:",
        "if fixed is not None and fixed != said:",
    ),
    Mutant(
        "a draw may have another round than its row says",
        "BegunComparison._check_point",
        "if found is None or found.signature != draw.signature:",
        "if found is None:",
    ),
    Mutant(
        "a verifier takes draws that were begun together",
        "verify:_check_order",
        "if named != sorted(set(named)):",
        "if False:",
    ),
    Mutant(
        "a verifier takes any prize that is gone",
        "verify:_compare_draw",
        "true_gone = prize_id if own else None",
        "true_gone = gone_id",
    ),
    Mutant(
        "a round is written over",
        "DynamoRounds.keep",
        'put(self._table, {**row, "signature": found.signature.hex()})',
        'put(self._table, {**row, "signature": found.signature.hex()},'
        ' condition="sk <> :none", none="")',
    ),
]
