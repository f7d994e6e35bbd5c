"""Lotteries."""

from __future__ import annotations

from tests.faults.mutants.mutant import (
    of_draws,
    overwritten,
    recreated,
)

MUTANTS = [
    # Conditions of draws
    overwritten(
        "a draw may be written over", "DynamoDraws.record_draw", "put(self._draws, draw_row(draw)"
    ),
    overwritten(
        "a unit is won twice", "DynamoDraws._use_up", "put(self._draws, {**unit, **won_by(draw)}"
    ),
    overwritten(
        "a unit of a day's stock is won twice",
        "DynamoDraws._use_up",
        "put(self._draws, {**day_unit, **won_by(draw)}",
    ),
    recreated(
        "a share of a cash prize is won twice",
        "DynamoDraws._use_up",
        "create(self._shares, items.share_row(share))",
        of="draws",
    ),
    overwritten(
        "a user wins twice what is won once",
        "DynamoDraws._use_up",
        'put(self._draws, {**winner, "draw_id": draw.draw_id}',
    ),
    overwritten("a friend helps twice", "DynamoDraws.record_help", "put(self._draws, given"),
    of_draws(
        "all days have one seed",
        "lottery:day_seed",
        "days_of_chain(CHAIN_LAST_DAY) - days_of_chain(day)",
        "0",
    ),
    of_draws(
        "attempts that miss are not limited",
        "MAY_DRAW",
        'MAY_DRAW = "attribute_not_exists(pk) OR attempt_count < :attempts_max"',
        'MAY_DRAW = "attribute_not_exists(nothing)"',
    ),
    of_draws(
        "attempts that win are not limited",
        "MAY_WIN",
        "attempt_count < :attempts_max AND win_count < :wins_max",
        "win_count < :wins_max",
    ),
    of_draws("wins are not limited", "MAY_WIN", " AND win_count < :wins_max", ""),
    of_draws(
        "helps are not limited",
        "MAY_BE_HELPED",
        " OR help_count < :helps_max",
        " OR help_count >= :zero",
    ),
    of_draws("a help gives nothing", "DynamoDraws.record_help", "minus_one=-1", "minus_one=0"),
    of_draws(
        "an edit of a prize undoes another",
        "draws:IS_AS_READ",
        'IS_AS_READ = "version = :read_version"',
        'IS_AS_READ = "version >= :read_version"',
    ),
    of_draws(
        "an edit of a prize overwrites a concurrent one",
        "DynamoDraws.put_prize",
        "if _version(prizes.get(prize.prize_id)) != _version(before):",
        "if (before is None) != (prize.prize_id not in prizes):",
    ),
    of_draws(
        "an edit of a prize leaves the table's version",
        "_replace_prizes",
        '"SET prizes = :prizes ADD version :one"',
        '"SET prizes = :prizes"',
    ),
    of_draws(
        "an edit of a campaign leaves the table's version",
        "DynamoCampaigns.edit",
        '"SET #plan = :plan ADD version :one"',
        '"SET #plan = :plan"',
    ),
    of_draws(
        "an edit of a campaign is not in its table",
        "DynamoCampaigns.edit",
        "[operation, shown, *",
        "[operation, *",
    ),
    overwritten("a key names two draws", "DynamoDraws.record_draw", "put(self._draws, request"),
    of_draws(
        "a help lowers the number of the next draw",
        "Player.draw_count",
        "self.attempt_count + self.help_count",
        "self.attempt_count",
    ),
    of_draws(
        "a start that was moved to now opens late",
        "started_table",
        "version_min=version",
        "version_min=0",
    ),
    of_draws("all draws of a user are one", "point_text", ",{draw_no}", ",1"),
    of_draws(
        "two users draw the same",
        "point_text",
        ",{user_id},",
        ",,",
    ),
    of_draws(
        "a page is remembered over midnight",
        "CachedLotteries._is_of_today",
        "== page.day",
        "",
    ),
    of_draws(
        "a user who has drawn is refused at the end",
        "draw_prize:draw_prize",
        "if attempt.before:",
        "if False:",
    ),
    of_draws(
        "an attempt that the ledger knows to be left is refused",
        "_check_refusal",
        "if attempts_left(rules, player) != 0:",
        "if False:",
    ),
    of_draws(
        "a request beside another one uses up a unit",
        "_keep_what_is_durable",
        "if durable is None or _used_up(durable) != _used_up(draw):",
        "if False:",
    ),
    of_draws(
        "a draw uses a table that was edited",
        "judge_answer:table_of",
        "if outcome.table_version >= table.version:",
        "if True:",
    ),
    of_draws(
        "a draw uses a table that was never read",
        "judge_answer:table_of",
        "if outcome.table_version > table.version:",
        "if False:",
    ),
    of_draws(
        "a promised prize is forgotten with the cache",
        "judge_answer",
        "if decided_by is None or _is_owed_a_prize(tried, outcome, decided_by, ports):",
        "if decided_by is None:",
    ),
    of_draws(
        "the cache is believed against its own odds",
        "_decided",
        "if not is_meant or ask.odds not in {None, outcome.odds}:",
        "if False:",
    ),
    of_draws(
        "a unit without a winner is lost",
        "record_draw:record_draw",
        "is_unit_free=not is_lost",
        "is_unit_free=False",
    ),
    of_draws(
        "a unit that is somebody's is offered again",
        "record_draw:record_draw",
        "is_unit_free=not is_lost",
        "is_unit_free=True",
    ),
    of_draws(
        "a win of cash is not queued",
        "record_draw:record_draw",
        "        _queue_payout(draw, ports)\n",
        "",
    ),
    of_draws(
        "everybody loads a lottery that the cache lost",
        "load_alone",
        "if not ports.claim_cache.begin_load(campaign_id, _LOAD_LIFE_MS):",
        "if False:",
    ),
    of_draws(
        "a day's seed is revealed on that day",
        "read_draws:read_draw_proof",
        "if clock.now_ms() < found.ends_at_ms + REVEAL_AFTER_MS:",
        "if clock.now_ms() < found.starts_at_ms:",
    ),
    of_draws(
        "users help themselves",
        "help_inviter:help_inviter",
        "if inviter_id == helper_id:",
        "if False:",
    ),
    of_draws(
        "helpers need not say the phrase",
        "help_inviter:help_inviter",
        "    _check_phrase(campaign, helper_id, said, ports)\n",
        "",
    ),
    of_draws(
        "stock is lowered below what was won",
        "change_stock.edited",
        "if total < stock.durable_no:",
        "if False:",
    ),
    of_draws(
        "an edit changes what a prize is",
        "put_prize.edited",
        "        _check_unchanged(plan, before)\n",
        "",
    ),
    of_draws(
        "prizes of cash can be grabbed",
        "find_rules",
        "if rules is None or rules.prize_id:",
        "if rules is None:",
    ),
    # The scripts of draws
    of_draws(
        "the cache lets users draw once too often",
        "draw_prize.lua",
        "player.attempt_count >= rules.attempts_max",
        "player.attempt_count > rules.attempts_max",
    ),
    of_draws(
        "the cache decides a repeat again", "draw_prize.lua", "if before then", "if false then"
    ),
    of_draws(
        "a draw counts for a day that is over",
        "window.lua",
        "now < day_starts_ms or now >= day_ends_ms",
        "now < day_starts_ms",
    ),
    of_draws(
        "the cache hands out a unit too many",
        "prize.lua",
        "return count < prize.total",
        "return count <= prize.total",
    ),
    of_draws(
        "the cache hands out a unit too many of a day",
        "prize.lua",
        "today.count < prize.per_day",
        "today.count <= prize.per_day",
    ),
    of_draws(
        "the cache releases an hour's units too early",
        "prize.lua",
        "count < prize.per_hour * hour",
        "count < prize.per_hour * (hour + 1)",
    ),
    of_draws(
        "a load takes back units that were handed out since",
        "stock.lua",
        "stock.issued_no = math.max(stock.issued_no, durable_no)",
        "stock.issued_no = durable_no",
    ),
    of_draws(
        "an older table overwrites a newer one",
        "draw_load.lua",
        "version >= known.version",
        "true",
    ),
    of_draws(
        "a newer table decides for whom an older one lets in",
        "judge_answer",
        "if audience_of(decided_by) != tried.audience:",
        "if False:",
    ),
]
