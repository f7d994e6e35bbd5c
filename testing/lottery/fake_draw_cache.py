"""In-memory cache of lotteries."""

from collections import defaultdict
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace

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
from redpacket.lottery.model.odds import choose
from redpacket.platform.errors import Unavailable
from testing.platform.fake_services import FakeClock
from testing.platform.fake_tables import Item


class _Stock:
    """Unit numbers of a prize, or of one day's units."""

    def __init__(self) -> None:
        self.issued_no = 0
        self.returned: list[int] = []

    @property
    def count(self) -> int:
        return self.issued_no - len(self.returned)

    def take(self, total: int) -> int:
        if self.issued_no < total:
            self.issued_no += 1
            return self.issued_no
        lowest = min(self.returned)
        self.returned.remove(lowest)
        return lowest

    def catch_up(self, durable_no: int, free: Sequence[int]) -> None:
        self.returned += [number for number in free if number > self.issued_no]
        self.issued_no = max(self.issued_no, durable_no)

    def offer(self, number: int) -> None:
        if number <= self.issued_no:
            self.returned.append(number)


class _DrawDay:
    """State of a lottery for one day; *draws* stores each outcome and the misses before it."""

    def __init__(self) -> None:
        self.players: dict[str, Player] = {}
        self.stocks: defaultdict[str, _Stock] = defaultdict(_Stock)
        self.draws: dict[str, tuple[DrawOutcome, int]] = {}


class FakeDrawCache:
    """DrawCache that behaves like the scripts, with its own clock."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self.is_away = False
        self.forget()

    def forget(self) -> None:
        """Delete everything."""
        self.snapshots: dict[str, CampaignSnapshot] = {}
        self.stocks: defaultdict[tuple[str, str], _Stock] = defaultdict(_Stock)
        self.days: defaultdict[tuple[str, str], _DrawDay] = defaultdict(_DrawDay)
        self.winners: set[tuple[str, str, str]] = set()
        self._loading_until_ms: dict[str, int] = {}

    def snapshot(self) -> Item:
        """Return a copy, like a replica, that later draws do not change."""
        kept = {name: value for name, value in vars(self).items() if name != "_clock"}
        return deepcopy(kept)

    def fail_over(self, snapshot: Item) -> None:
        """Restore *snapshot*."""
        vars(self).update(deepcopy(snapshot))

    def draw(self, request: DrawRequest) -> DrawOutcome:
        self._check()
        snapshot = self.snapshots.get(request.campaign_id)
        if refused := self._refusal(snapshot, request):
            return DrawOutcome(refused, snapshot_version=_version_told(refused, snapshot))
        assert snapshot is not None
        day = self._day(request)
        if request.draw_id in day.draws:
            return replace(day.draws[request.draw_id][0], is_repeat=True)
        player = day.players.get(request.user_id, Player())
        if 0 < snapshot.campaign.rules.attempts_per_user_per_day <= player.attempt_count:
            return DrawOutcome(DrawStatus.ATTEMPTS_EXHAUSTED, snapshot_version=snapshot.version)
        odds = self._odds(snapshot, request, player)
        won = choose(odds, request.point)
        outcome = DrawOutcome(DrawStatus.MISSED, None, 0, 0, snapshot.version, odds)
        if won is not None:
            (prize,) = (prize for prize in snapshot.prizes if prize.prize_id == won)
            outcome = replace(
                outcome,
                status=DrawStatus.WON,
                prize_id=won,
                unit_no=self.stocks[request.campaign_id, won].take(prize.total),
                day_no=day.stocks[won].take(prize.per_day) if prize.per_day else 0,
            )
            if prize.once_per_user:
                self.winners.add((request.campaign_id, request.user_id, won))
        day.draws[request.draw_id] = outcome, player.miss_streak
        day.players[request.user_id] = Player(
            player.attempt_count + 1,
            player.win_count + (won is not None),
            player.miss_streak + 1 if won is None else 0,
        )
        return outcome

    def load(self, snapshot: CampaignSnapshot, day: DrawDay, stock: Sequence[PrizeStock]) -> None:
        self._check()
        campaign_id = snapshot.campaign.campaign_id
        if (
            campaign_id not in self.snapshots
            or self.snapshots[campaign_id].version <= snapshot.version
        ):
            self.snapshots[campaign_id] = snapshot
        for of_prize in stock:
            self.stocks[campaign_id, of_prize.prize_id].catch_up(of_prize.durable_no, of_prize.free)
            self.days[campaign_id, day.name].stocks[of_prize.prize_id].catch_up(
                of_prize.day_durable_no, of_prize.day_free
            )

    def undo(self, request: DrawRequest, *, is_unit_free: bool) -> None:
        self._check()
        day = self._day(request)
        if request.draw_id not in day.draws:
            return
        outcome, miss_streak = day.draws.pop(request.draw_id)
        player = day.players.get(request.user_id, Player())
        day.players[request.user_id] = Player(
            player.attempt_count - 1,
            max(0, player.win_count - (outcome.prize_id is not None)),
            miss_streak,
        )
        if outcome.prize_id is None:
            return
        self.winners.discard((request.campaign_id, request.user_id, outcome.prize_id))
        if is_unit_free:
            self.stocks[request.campaign_id, outcome.prize_id].offer(outcome.unit_no)
            if outcome.day_no:
                day.stocks[outcome.prize_id].offer(outcome.day_no)

    def drop(self, request: DrawRequest) -> None:
        self._check()
        self.snapshots.pop(request.campaign_id, None)
        for key in [key for key in self.stocks if key[0] == request.campaign_id]:
            del self.stocks[key]
        self.days.pop((request.campaign_id, request.day.name), None)

    def set_player(self, request: DrawRequest, player: Player) -> None:
        self._check()
        self._day(request).players[request.user_id] = player

    def mark_winner(self, request: DrawRequest, prize_id: str) -> None:
        self._check()
        if request.campaign_id in self.snapshots:
            self.winners.add((request.campaign_id, request.user_id, prize_id))

    def begin_load(self, campaign_id: str, life_ms: int) -> bool:
        self._check()
        now_ms = self._clock.now_ms()
        if self._loading_until_ms.get(campaign_id, 0) > now_ms:
            return False
        self._loading_until_ms[campaign_id] = now_ms + life_ms
        return True

    def find_version(self, campaign_id: str) -> int | None:
        self._check()
        snapshot = self.snapshots.get(campaign_id)
        return snapshot.version if snapshot else None

    def count_issued(self, campaign_id: str, prize_ids: Sequence[str]) -> dict[str, int] | None:
        self._check()
        if campaign_id not in self.snapshots:
            return None
        own_ids = {prize.prize_id for prize in self.snapshots[campaign_id].prizes}
        return {
            prize_id: self.stocks[campaign_id, prize_id].count
            for prize_id in prize_ids
            if prize_id in own_ids
        }

    def _refusal(
        self, snapshot: CampaignSnapshot | None, request: DrawRequest
    ) -> DrawStatus | None:
        now_ms = self._clock.now_ms()
        if snapshot is None:
            return DrawStatus.CAMPAIGN_NOT_LOADED
        if now_ms >= snapshot.campaign.ends_at_ms:
            return DrawStatus.CAMPAIGN_ENDED
        if now_ms < snapshot.campaign.starts_at_ms:
            return DrawStatus.CAMPAIGN_NOT_STARTED
        if snapshot.campaign.status is CampaignStatus.OFF:
            return DrawStatus.CAMPAIGN_PAUSED
        if not request.day.starts_at_ms <= now_ms < request.day.ends_at_ms:
            return DrawStatus.WRONG_DAY
        return None

    def _odds(self, snapshot: CampaignSnapshot, request: DrawRequest, player: Player) -> str:
        campaign, rules = snapshot.campaign, snapshot.campaign.rules
        miss_weight = campaign.miss_weight
        listed: list[str] = []
        for prize in sorted(snapshot.prizes, key=lambda prize: prize.prize_id):
            if prize.status is CampaignStatus.OFF or not prize.weight:
                continue
            has_won_enough = 0 < rules.wins_per_user_per_day <= player.win_count
            if not has_won_enough and self._is_left(prize, campaign, request):
                listed.append(f"{prize.prize_id}:{prize.weight}")
            elif campaign.when_sold_out is WhenSoldOut.MISS:
                miss_weight += prize.weight
        if listed and 0 < rules.guaranteed_after_misses <= player.miss_streak:
            miss_weight = 0
        return f"{','.join(listed)}|{miss_weight}"

    def _is_left(self, prize: Prize, campaign: CampaignPlan, request: DrawRequest) -> bool:
        issued_count = self.stocks[request.campaign_id, prize.prize_id].count
        day_count = self._day(request).stocks[prize.prize_id].count
        hours = (self._clock.now_ms() - campaign.starts_at_ms) // 3_600_000 + 1
        has_won = (request.campaign_id, request.user_id, prize.prize_id) in self.winners
        return (
            issued_count < prize.total
            and (not prize.per_day or day_count < prize.per_day)
            and (not prize.per_hour or issued_count < prize.per_hour * hours)
            and not (prize.once_per_user and has_won)
        )

    def _day(self, request: DrawRequest) -> _DrawDay:
        return self.days[request.campaign_id, request.day.name]

    def _check(self) -> None:
        if self.is_away:
            raise Unavailable("the cache does not answer")


def _version_told(refused: DrawStatus, snapshot: CampaignSnapshot | None) -> int:
    """Return the snapshot's version for a refusal, except a wrong day, which depends only on
    clocks.
    """
    return snapshot.version if snapshot and refused is not DrawStatus.WRONG_DAY else 0
