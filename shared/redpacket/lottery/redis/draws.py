"""Lottery in Redis or Valkey: hashes for each campaign and day, and scripts that change them."""

from __future__ import annotations

from collections.abc import Sequence

from redpacket.campaigns.model import CampaignPlan, CampaignStatus, WhenSoldOut
from redpacket.fairness.model.days import DrawDay
from redpacket.lottery.model.lottery import (
    CampaignSnapshot,
    DrawOutcome,
    DrawRequest,
    DrawStatus,
    Player,
    Prize,
    PrizeStock,
)
from redpacket.lottery.redis import keys
from redpacket.platform.errors import CacheAltered
from redpacket.platform.redis.client import Client
from redpacket.platform.redis.connect import Cache, Script

_KEEP_AFTER_END_MS = 24 * 3600 * 1000
"""Milliseconds for which the cache keeps a lottery or a day's counters after their end."""

_LETTERS = {CampaignStatus.ON: "O", CampaignStatus.OFF: "P"}
_MISS_LETTERS = {WhenSoldOut.MISS: "M", WhenSoldOut.REDISTRIBUTE: "R"}
_RULES = "#"
_NO_PRIZE = "-"
_ONCE = "!"
_OUTCOME_WORDS = 5


class RedisDraws(Cache):
    """DrawCache implementation for Redis and Valkey."""

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self._draw = Script.read("draw_prize")
        self._load = Script.read("draw_load")
        self._undo = Script.read("draw_undo")
        self._player = Script.read("draw_player")
        self._winner = Script.read("draw_winner")

    def draw(self, request: DrawRequest) -> DrawOutcome:
        args = request.user_id, request.draw_id, request.point
        bounds = request.day.starts_at_ms, request.day.ends_at_ms
        try:
            answer = self.run(self._draw, _script_keys(request), *args, *bounds)
        except CacheAltered:
            return DrawOutcome(DrawStatus.CAMPAIGN_ALTERED)
        status, *outcome = answer.split(" ")
        if len(outcome) < _OUTCOME_WORDS:
            return DrawOutcome(
                DrawStatus(status), snapshot_version=int(outcome[0]) if outcome else 0
            )
        prize_id, unit_no, day_no, version, odds = outcome
        has_won = prize_id != _NO_PRIZE
        return DrawOutcome(
            DrawStatus.WON if has_won else DrawStatus.MISSED,
            prize_id if has_won else None,
            int(unit_no),
            int(day_no),
            int(version),
            odds,
            is_repeat=status == DrawStatus.DRAWN_BEFORE,
        )

    def load(self, snapshot: CampaignSnapshot, day: DrawDay, stock: Sequence[PrizeStock]) -> None:
        campaign = snapshot.campaign
        prizes = sorted(snapshot.prizes, key=lambda prize: prize.prize_id)
        listed = [prize for prize in prizes if prize.status is CampaignStatus.ON and prize.weight]
        script_keys = [
            keys.draw_cache(campaign.campaign_id),
            keys.draw_day(campaign.campaign_id, day.name),
            keys.draw_winners(campaign.campaign_id),
        ]
        args: list[str | int] = [
            campaign.ends_at_ms + _KEEP_AFTER_END_MS,
            day.ends_at_ms + _KEEP_AFTER_END_MS,
            _rules(campaign, has_once=any(prize.once_per_user for prize in listed)),
            snapshot.version,
            ",".join(f"{prize.prize_id}{_ONCE * prize.once_per_user}" for prize in listed),
        ]
        stocks = {of_prize.prize_id: of_prize for of_prize in stock}
        for prize in prizes:
            durable = stocks.get(prize.prize_id, PrizeStock(prize.prize_id))
            args += [prize.prize_id, _terms(prize)]
            args += [durable.durable_no, _numbers(durable.free)]
            args += [durable.day_durable_no, _numbers(durable.day_free)]
        self.run(self._load, script_keys, *args)

    def undo(self, request: DrawRequest, *, is_unit_free: bool) -> None:
        self.run(
            self._undo, _script_keys(request), request.user_id, request.draw_id, int(is_unit_free)
        )

    def drop(self, request: DrawRequest) -> None:
        self.remove(*_script_keys(request)[:2])

    def set_player(self, request: DrawRequest, player: Player) -> None:
        key = keys.draw_day(request.campaign_id, request.day.name)
        counts = f"{player.attempt_count},{player.win_count},{player.miss_streak}"
        keep_until_ms = request.day.ends_at_ms + _KEEP_AFTER_END_MS
        self.run(self._player, key, request.user_id, counts, keep_until_ms)

    def mark_winner(self, request: DrawRequest, prize_id: str) -> None:
        script_keys = [keys.draw_cache(request.campaign_id), keys.draw_winners(request.campaign_id)]
        self.run(self._winner, script_keys, request.user_id, prize_id)

    def begin_load(self, campaign_id: str, life_ms: int) -> bool:
        return self.take_turn(keys.draw_loading(campaign_id), "", life_ms)

    def find_version(self, campaign_id: str) -> int | None:
        rules = self.ask("HGET", keys.draw_cache(campaign_id), _RULES)
        # The rules end with the version and the revision (lua/lib/lottery_rules.lua).
        return int(str(rules).rsplit(",", 2)[1]) if rules else None

    def count_issued(self, campaign_id: str, prize_ids: Sequence[str]) -> dict[str, int] | None:
        key = keys.draw_cache(campaign_id)
        rules, *prizes = self.ask("HMGET", key, _RULES, *prize_ids)
        if rules is None:
            return None
        counters = zip(prize_ids, prizes, strict=True)
        return {prize_id: _issued_count(text) for prize_id, text in counters if text}


def _script_keys(request: DrawRequest) -> list[str]:
    return [
        keys.draw_cache(request.campaign_id),
        keys.draw_day(request.campaign_id, request.day.name),
        keys.draw_winners(request.campaign_id),
    ]


def _rules(campaign: CampaignPlan, *, has_once: bool) -> str:
    # lua/lib/lottery_rules.lua
    rules = campaign.rules
    window = f"{campaign.starts_at_ms:013d}{campaign.ends_at_ms:013d}"
    limits = f"{rules.attempts_per_user_per_day},{rules.wins_per_user_per_day}"
    misses = f"{rules.guaranteed_after_misses},{campaign.miss_weight}"
    letter, miss_letter = _LETTERS[campaign.status], _MISS_LETTERS[campaign.when_sold_out]
    return f"{letter}{window},{limits},{misses},{miss_letter},{int(has_once)}"


def _terms(prize: Prize) -> str:
    # lua/lib/prize.lua
    stock = f"{prize.total},{prize.per_day},{prize.per_hour}"
    return f"{prize.weight},{stock},{int(prize.once_per_user)}"


def _issued_count(prize: str) -> int:
    # lua/lib/prize.lua, lua/lib/stock.lua
    units = prize.rpartition(";")[2]
    issued_no, *returned = units.split(",")
    return int(issued_no) - len(returned)


def _numbers(free: Sequence[int]) -> str:
    return ",".join(map(str, free))
