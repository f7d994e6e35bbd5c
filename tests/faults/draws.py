"""Deterministic simulation of a lottery, as `simulation` does it with packets.

Users draw with keys that they repeat, on two devices, over midnight; friends help; an operator
edits rules, prizes and stocks meanwhile. The naive control tells what the cache said.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from redpacket.adapters.draw_items import draw_of
from redpacket.adapters.dynamo import Dynamo, from_wire
from redpacket.adapters.dynamo_draws import DynamoDraws
from redpacket.domain.campaign import CampaignStatus, DrawRules, WhenSoldOut
from redpacket.domain.checks import Difference
from redpacket.domain.errors import RedPacketError, Rejected, Unavailable
from redpacket.domain.lottery import (
    Draw,
    DrawAsk,
    Prize,
    PrizeKind,
    choose,
    draw_day,
    draw_id_of,
    draw_point,
)
from redpacket.flows.edit_campaign import edit_campaign
from redpacket.flows.load_campaign import load_campaign
from redpacket.flows.recall_table import RecalledTables
from tests.builders import NOW_MS, a_campaign, a_prize
from tests.faults.faulty import FaultyDraws, FaultyDynamo, Killed
from tests.faults.simulation import Schedule

ID = "gala"
DAY_MS = 24 * 3_600_000
AMOUNT_FEN = 7

Attempt = tuple[str, str]
"""A user and their key."""


@dataclass
class DrawSchedule(Schedule):
    """One run of a lottery from one seed."""

    attempts: list[Attempt] = field(default_factory=list)
    told_to: dict[Attempt, Draw] = field(default_factory=dict)
    in_the_end: list[Difference] = field(default_factory=list)

    def run(self) -> list[Difference]:
        """Play the schedule to its end; return the broken invariants."""
        found = super().run()
        draws = [
            draw_of(from_wire(row))
            for row in self.town.dynamo.scan(TableName="campaigns")["Items"]
            if "odds" in row
        ]
        return found + self.in_the_end + self._overdrawn(draws) + self._unproved(draws)

    def _prepare(self) -> None:
        town, pick = self.town, self.random.choice
        if pick((True, False)):
            # Midnight comes in the middle of the rush.
            day = draw_day(a_campaign(), NOW_MS)
            town.clock.at_ms = day.ends_at_ms - self.random.randint(0, 8_000)
        now_ms = town.clock.now_ms()
        self.rules = DrawRules(
            attempts_per_user_per_day=pick((0, 1, 2, 3)),
            wins_per_user_per_day=pick((0, 1, 2)),
            guaranteed_after_misses=pick((0, 0, 2)),
            helps_per_user_per_day=pick((0, 1, 2)),
        )
        campaign = a_campaign(
            campaign_id=ID,
            starts_at_ms=now_ms - 10_000,
            ends_at_ms=now_ms + pick((10_000, 60_000, 2 * DAY_MS)),
            miss_weight=pick((0, 5, 20)),
            rules=self.rules,
            when_sold_out=pick(list(WhenSoldOut)),
            passphrase="恭喜发财",
        )
        town.campaigns.create(campaign)
        town.deposit("operator", 1000)
        for number in range(self.random.randint(1, 3)):
            town.put_prize(self._some_prize(f"prize-{number}"))
        if pick((True, False)):
            town.load_campaign(ID)

    def _some_prize(self, prize_id: str) -> Prize:
        pick = self.random.choice
        is_cash = pick((True, False))
        return a_prize(
            ID,
            prize_id,
            kind=PrizeKind.PACKET if is_cash else PrizeKind.GOODS,
            amount_fen=AMOUNT_FEN if is_cash else None,
            weight=pick((1, 10)),
            total=self.random.randint(1, 8),
            per_day=pick((0, 0, 1, 3)),
            per_hour=pick((0, 0, 0, 4)),
            once_per_user=pick((True, False)),
        )

    def _connect(self) -> None:
        super()._connect()
        town = self.town
        client = FaultyDynamo(town.dynamo, self.wire)
        dynamo = Dynamo(lambda: client, pause_s=lambda _: self._let_others_run())
        town.draws = DynamoDraws(dynamo, "campaigns", "shares", "draws")
        town.draw_board = FaultyDraws(town.lots, self.wire)
        self._snapshot = town.lots.snapshot()
        # Two Lambdas that live long; what they remember may be old.
        self._processes = [town.tables(), town.tables()]

    def _parts(self) -> list[Callable[[], None]]:
        users = [f"user-{number}" for number in range(self.random.randint(6, 12))]
        self.attempts = [(user, f"key-{no}") for user in users for no in range(3)]
        parts = [self._player(user) for user in users + self.random.sample(users, 2)]
        parts += [self._friend(self.random.sample(users, 2)) for _ in range(4)]
        parts += [self._operator, self._payout_worker, self._payout_worker]
        return [*parts, self._sweeper, self._sweeper, self._chaos]

    def _player(self, user_id: str) -> Callable[[], None]:
        draw = self._draw_naively if self.is_naive else self._draw

        def play() -> None:
            for _ in range(self.random.randint(0, 12)):
                self._wait()
            for attempt in [attempt for attempt in self.attempts if attempt[0] == user_id]:
                try:
                    draw(attempt)
                except Rejected as refusal:
                    self.story.append(f"{user_id} is told {refusal.code}")

        return self._trying(play, times=self.random.randint(4, 8))

    def _draw(self, attempt: Attempt) -> None:
        draw = self.town.draw(ID, *attempt, self._process()).draw
        self.told_to[attempt] = draw
        self.story.append(f"{attempt} was told {draw.prize and draw.prize.prize_id}")

    def _process(self) -> RecalledTables:
        return self.random.choice([*self._processes, self.town.tables()])

    def _draw_naively(self, attempt: Attempt) -> None:
        """Answer after the cache alone; the durable write follows, if it does."""
        if attempt in self.told_to:
            return  # whoever was told something is content
        town, tables = self.town, self._process()
        table = tables.recall(ID)
        day = draw_day(table.campaign, town.clock.now_ms())
        draw_id = draw_id_of(ID, *attempt)
        point = draw_point(tables.seed(ID, day.name), draw_id)
        outcome = town.draw_board.draw(DrawAsk(ID, attempt[0], draw_id, day, point))
        if not outcome.odds:
            load_campaign(ID, draws=town.draws, board=town.draw_board, clock=town.clock)
            return
        if attempt in self.told_to:
            return
        table = tables.recall(ID, outcome.table_version)
        prizes = {prize.prize_id: prize for prize in table.prizes}
        draw = Draw(
            ID,
            attempt[0],
            draw_id,
            day.name,
            town.clock.now_ms(),
            point,
            outcome.odds,
            outcome.table_version,
            prizes[outcome.prize_id] if outcome.prize_id else None,
            outcome.unit_no,
            outcome.day_no,
        )
        self.told_to[attempt] = draw
        town.told_draws.append(draw)
        town.draws.record_draw(draw, table.campaign.rules)

    def _friend(self, friends: Iterable[str]) -> Callable[[], None]:
        helper, inviter = friends

        def help_them() -> None:
            for _ in range(self.random.randint(0, 30)):
                self._wait()
            helped = self.town.help(ID, helper, inviter)
            self.story.append(f"{helper} {helped.status} {inviter}")

        return self._trying(help_them, times=3)

    def _operator(self) -> None:
        edits = [self._edit_prize, self._edit_stock, self._edit_rules, self._add_prize]
        for _ in range(self.random.randint(0, 4)):
            for _ in range(self.random.randint(5, 40)):
                self._wait()
            try:
                self.random.choice(edits)()
                self.town.load_campaign(ID)
            except (RedPacketError, Killed):
                continue

    def _edit_prize(self) -> None:
        prize = self.random.choice(self.town.draws.list_prizes(ID))
        status = self.random.choice(list(CampaignStatus))
        self.town.put_prize(replace(prize, title="新", weight=5, status=status))

    def _edit_stock(self) -> None:
        prize = self.random.choice(self.town.draws.list_prizes(ID))
        self.town.change_stock(prize, self.random.choice((-1, 1, 2)))

    def _add_prize(self) -> None:
        if "prize-9" not in [prize.prize_id for prize in self.town.draws.list_prizes(ID)]:
            self.town.put_prize(self._some_prize("prize-9"))

    def _edit_rules(self) -> None:
        """Let users do more: what they did by other rules stays within these."""
        town = self.town
        campaign = town.campaigns.find_campaign(ID)
        assert campaign
        rules = campaign.rules
        if rules.attempts_per_user_per_day:
            rules = replace(rules, attempts_per_user_per_day=rules.attempts_per_user_per_day + 1)
        if rules.wins_per_user_per_day:
            rules = replace(rules, wins_per_user_per_day=rules.wins_per_user_per_day + 1)
        plan = replace(campaign, rules=rules, miss_weight=self.random.choice((0, 5, 20)))
        edit_campaign(
            plan,
            None,
            campaign.version,
            campaigns=town.campaigns,
            draws=town.draws,
            packets=town.packets,
        )

    def _chaos(self) -> None:
        town = self.town
        for _ in range(self.random.randint(3, 10)):
            for _ in range(self.random.randint(1, 30)):
                self._wait()
                if self.random.random() < 0.04:
                    self._snapshot = town.lots.snapshot()
            match self.random.choice(("rollback", "rollback", "rollback", "flush", "clock", "day")):
                case "rollback":
                    self.story.append("the cache fails over to an older replica")
                    town.lots.fail_over(self._snapshot)
                    self._snapshot = town.lots.snapshot()
                case "flush":
                    self.story.append("the cache is flushed")
                    town.lots.forget()
                case "clock":
                    town.pass_time(self.random.randint(1, 20_000))
                case _ if self.random.random() < 0.3:
                    self.story.append("a day passes")
                    town.pass_time(DAY_MS)

    def _heal(self) -> None:
        """Stop the faults; whoever waits for an answer gets one, and all ends in time."""
        self.faults.rate = 0.0
        town = self.town
        for attempt in [] if self.is_naive else self.attempts:
            self._draw_in_the_end(attempt)
        campaign = town.campaigns.find_campaign(ID)
        assert campaign
        town.pass_time(max(0, campaign.ends_at_ms - town.clock.now_ms()))
        super()._heal()
        # I10: whoever asks again is told the same, for ever.
        for attempt, draw in [] if self.is_naive else list(self.told_to.items()):
            if (again := self._draw_in_the_end(attempt)) != draw:
                self._complain("I10", attempt, str(draw), str(again))

    def _draw_in_the_end(self, attempt: Attempt) -> Draw | None:
        # Others may have been about to load the campaign when they died.
        for _ in range(2):
            try:
                self._draw(attempt)
            except Rejected:
                return None
            except Unavailable:
                self.town.pass_time(2_000)
            else:
                return self.told_to[attempt]
        self._complain("I8", attempt, "an answer", "none, though all is well")
        return None

    def _complain(self, rule: str, attempt: Attempt, expected: str, actual: str) -> None:
        self.in_the_end.append(Difference(rule, " ".join(attempt), "draw", expected, actual))

    def _overdrawn(self, draws: Iterable[Draw]) -> list[Difference]:
        """I9, counted anew from the draws alone."""
        counted: Counter[tuple[str, ...]] = Counter()
        most: dict[tuple[str, ...], int] = {}
        campaign = self.town.campaigns.find_campaign(ID)
        assert campaign
        rules = campaign.rules
        helped = self._help_counts()

        def count(*key: str, at_most: int) -> None:
            counted[key] += 1
            most[key] = at_most

        for draw in draws:
            player = draw.user_id, draw.day
            if rules.attempts_per_user_per_day:
                attempts_max = rules.attempts_per_user_per_day + helped[player]
                count("attempts", *player, at_most=attempts_max)
            if not draw.prize:
                continue
            prize = draw.prize
            count("unit", prize.prize_id, str(draw.unit_no), at_most=1)
            if prize.once_per_user:
                count("winner", prize.prize_id, draw.user_id, at_most=1)
            if rules.wins_per_user_per_day:
                count("wins", *player, at_most=rules.wins_per_user_per_day)
            if prize.per_day:
                count("day's", prize.prize_id, draw.day, at_most=prize.per_day)
                count("day's", prize.prize_id, draw.day, str(draw.day_no), at_most=1)
        return [
            Difference("I9", " ".join(key), "draws", most[key], times)
            for key, times in counted.items()
            if times > most[key]
        ]

    def _help_counts(self) -> dict[tuple[str, str], int]:
        counts: dict[tuple[str, str], int] = defaultdict(int)
        for item in self.town.dynamo.scan(TableName="campaigns")["Items"]:
            row: dict[str, Any] = from_wire(item)
            if "help_count" in row:
                user_id = row["pk"].rpartition("#")[2]
                counts[user_id, row["sk"].rpartition("#")[2]] = row["help_count"]
        return counts

    def _unproved(self, draws: Iterable[Draw]) -> list[Difference]:
        """Every draw follows from its day's seed."""
        tables = self.town.tables()
        return [
            Difference("I5", draw.draw_id, "prize by its seed", str(true), str(said))
            for draw in draws
            if (true := choose(draw.odds, draw_point(tables.seed(ID, draw.day), draw.draw_id)))
            != (said := draw.prize.prize_id if draw.prize else None)
        ]
