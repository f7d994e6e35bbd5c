"""Deterministic simulation of a lottery, like `simulation` for packets.

Users retry draws with the same keys, on two devices, and around midnight; friends help; an operator
edits rules, prizes and stock. The naive control returns the cache's answers.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from redpacket.campaigns.errors import CampaignEnded, CampaignPaused
from redpacket.campaigns.model import Campaign, CampaignStatus, DrawRules, WhenSoldOut
from redpacket.lottery.errors import AttemptsExhausted
from redpacket.lottery.model import lottery, odds
from redpacket.lottery.use_cases.cached_snapshots import CachedSnapshots
from redpacket.lottery.use_cases.load_campaign import load_campaign
from redpacket.platform import errors
from redpacket.platform.difference import Difference
from testing.builders import NOW_MS, a_campaign, a_prize
from testing.reconciliation.checks import LotteryFacts
from tests.faults.process import SKEW_MAX_MS, Process
from tests.faults.refusals import BOUND_MS
from tests.faults.schedule import Schedule, names

ID = "gala"
DAY_MS = 24 * 3_600_000
AMOUNT_FEN = 7
PHRASE = "恭喜发财"

DrawAttempt = tuple[str, str]
"""User, and the key of the user's request."""


@dataclass
class DrawSchedule(Schedule):
    """One run of a lottery from one seed."""

    MUST_SEE = Schedule.MUST_SEE | names(
        "check_lottery, check_outcomes, check_told_draws, draws counted again, draws proved"
    )

    attempts: list[DrawAttempt] = field(default_factory=list)
    told_to: dict[DrawAttempt, lottery.Draw] = field(default_factory=dict)

    def run(self) -> list[Difference]:
        """Run the schedule to its end, and return the broken invariants."""
        differences = super().run()
        for facts in self.system.ledger_state().lotteries:
            differences += self._overdrawn(facts) + self._unproved(facts.draws)
        return differences

    def prepare(self) -> None:
        """Create a lottery with up to three prizes, each of goods or of cash."""
        system, pick = self.system, self.random.choice
        if pick((True, False)):
            # Midnight is in the middle of the rush.
            day = lottery.draw_day(a_campaign(), NOW_MS)
            system.clock.at_ms = day.ends_at_ms - self.random.randint(0, 8_000)
        now_ms = system.clock.now_ms()
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
            passphrase=PHRASE,
        )
        system.campaigns.create(campaign)
        system.deposit("operator", 1000)
        for number in range(self.random.randint(1, 3)):
            system.put_prize(self._some_prize(f"prize-{number}"))
        if pick((True, False)):
            system.load_campaign(ID)
        self._snapshots = [system.lots.snapshot()]

    def _some_prize(self, prize_id: str) -> lottery.Prize:
        pick = self.random.choice
        is_cash = pick((True, False))
        return a_prize(
            ID,
            prize_id,
            kind=lottery.PrizeKind.PACKET if is_cash else lottery.PrizeKind.GOODS,
            amount_fen=AMOUNT_FEN if is_cash else None,
            weight=pick((1, 10)),
            total=self.random.randint(1, 8),
            per_day=pick((0, 0, 1, 3)),
            per_hour=pick((0, 0, 0, 4)),
            once_per_user=pick((True, False)),
        )

    def tasks(self) -> list[Callable[[], None]]:
        """Return the interleaved parts; some users draw on two devices at once."""
        users = [f"user-{number}" for number in range(self.random.randint(6, 12))]
        self.attempts = [(user, f"key-{no}") for user in users for no in range(3)]
        steps = [self._player(user) for user in users + self.random.sample(users, 2)]
        steps += [self._friend(self.random.sample(users, 2)) for _ in range(4)]
        steps += [self._operator, self.payout_worker, self.payout_worker]
        steps += [self.sweeper(group) for group in (*range(self.groups), 0)]
        return [*steps, self._chaos]

    def _player(self, user_id: str) -> Callable[[], None]:
        draw = self._draw_naively if self.is_naive else self._draw
        began = False

        def play(process: Process) -> None:
            nonlocal began
            if not began:
                began = True
                self.sleep_ms(self.random.randint(0, 500))
            for attempt in [attempt for attempt in self.attempts if attempt[0] == user_id]:
                try:
                    draw(process, attempt)
                except errors.Rejected as refusal:
                    self.trace.append(f"{user_id} is told {refusal.code}")

        return self.trying(play, times=self.random.randint(4, 8))

    def _draw(self, process: Process, attempt: DrawAttempt) -> None:
        draw = process.draw(ID, *attempt, process.known_snapshots).draw
        self.told_to[attempt] = draw
        self.trace.append(f"{attempt} was told {draw.prize and draw.prize.prize_id}")

    def _draw_naively(self, process: Process, attempt: DrawAttempt) -> None:
        """Answer when the cache does; the ledger is written later, unless the worker crashes."""
        if attempt in self.told_to:
            return  # A user with an answer does not retry.
        system, snapshots = process, process.known_snapshots
        snapshot = snapshots.get(ID)
        day = lottery.draw_day(snapshot.campaign, system.clock.now_ms())
        user_id, key = attempt
        draw_no = system.draws.find_attempt(ID, user_id, key, day.name, asks_audience=False).draw_no
        draw_id = lottery.draw_id_of(ID, user_id, day.name, draw_no)
        point = odds.draw_point(snapshots.seed(ID, day.name), ID, user_id, draw_no)
        outcome = system.draw_cache.draw(lottery.DrawRequest(ID, attempt[0], draw_id, day, point))
        if not outcome.odds:
            load_campaign(
                ID, prizes=system.prizes, draw_cache=system.draw_cache, clock=system.clock
            )
            return
        if attempt in self.told_to:
            return
        snapshot = snapshots.get(ID, outcome.snapshot_version)
        prizes = {prize.prize_id: prize for prize in snapshot.prizes}
        draw = lottery.Draw(
            ID,
            attempt[0],
            draw_id,
            day.name,
            draw_no,
            system.clock.now_ms(),
            point,
            outcome.odds,
            outcome.snapshot_version,
            prizes[outcome.prize_id] if outcome.prize_id else None,
            outcome.unit_no,
            outcome.day_no,
        )
        self.told_to[attempt] = draw
        system.told_draws.append(draw)
        system.draws.record_draw(draw, snapshot.campaign.rules, key)

    def _friend(self, friends: Sequence[str]) -> Callable[[], None]:
        helper, inviter = friends

        def help_them(process: Process) -> None:
            self.sleep_ms(self.random.randint(0, 1_000))
            helped = process.help(ID, helper, inviter)
            self.trace.append(f"{helper} {helped.status} {inviter}")

        return self.trying(help_them, times=3)

    # Operators

    def _operator(self) -> None:
        edits = [self._edit_prize, self._edit_stock, self._edit_rules, self._add_prize]
        edits += [self._edit_plan, self._edit_plan, self.turn_some_switch, self.reconcile]
        self.operate(edits, 200, lambda process: process.load_campaign(ID))

    def _edit_prize(self, process: Process) -> None:
        prize = self.random.choice(process.prizes.list_prizes(ID))
        status = self.random.choice(list(CampaignStatus))
        process.put_prize(replace(prize, title="新", weight=5, status=status))

    def _edit_stock(self, process: Process) -> None:
        prize = self.random.choice(process.prizes.list_prizes(ID))
        process.change_stock(prize, self.random.choice((-1, 1, 2)))

    def _add_prize(self, process: Process) -> None:
        if "prize-9" not in [prize.prize_id for prize in process.prizes.list_prizes(ID)]:
            process.put_prize(self._some_prize("prize-9"))

    def _edit_rules(self, process: Process) -> None:
        """Change the miss weight, and raise the limits, so that earlier draws stay within them."""
        campaign = process.campaigns.find_campaign(ID)
        assert campaign
        rules = campaign.rules
        if rules.attempts_per_user_per_day:
            rules = replace(rules, attempts_per_user_per_day=rules.attempts_per_user_per_day + 1)
        if rules.wins_per_user_per_day:
            rules = replace(rules, wins_per_user_per_day=rules.wins_per_user_per_day + 1)
        miss_weight = self.random.choice((0, 5, 20))
        process.edit_campaign(replace(campaign.plan, rules=rules, miss_weight=miss_weight))

    def _edit_plan(self, process: Process) -> None:
        """Move the end, or turn the lottery off or on."""
        campaign = process.campaigns.find_campaign(ID)
        assert campaign
        if self.random.random() < 0.5:
            ends_at_ms = self.system.clock.now_ms() + self.random.choice((5_000, 60_000, DAY_MS))
            plan = replace(campaign.plan, ends_at_ms=ends_at_ms)
        else:
            plan = replace(campaign.plan, status=self.random.choice(list(CampaignStatus)))
        self.trace.append(f"an operator edits {plan.status} {plan.ends_at_ms}")
        # Until an interrupted edit is retried, prize packets may end at another time.
        self.edits_under_way += 1
        process.edit_campaign(plan)
        self.edits_under_way -= 1

    def _chaos(self) -> None:
        system = self.system
        for _ in range(self.random.randint(3, 10)):
            for _ in range(self.random.randint(1, 30)):
                self.wait()
                if self.random.random() < 0.04:
                    self._snapshots.append(system.lots.snapshot())
            match self.random.choice(("rollback", "rollback", "rollback", "flush", "clock", "day")):
                case "rollback":
                    self.trace.append("the cache fails over to an older replica")
                    system.lots.fail_over(self._snapshots[-1])
                    self._snapshots.append(system.lots.snapshot())
                case "flush":
                    self.trace.append("the cache is flushed")
                    system.lots.forget()
                case "clock":
                    system.pass_time(self.random.randint(1, 20_000))
                case _ if self.random.random() < 0.3:
                    self.trace.append("a day passes")
                    self.pass_day(DAY_MS)

    # The end

    def heal(self) -> None:
        """Check that refusals are right, that retries get the same draws, and that everything ends
        in time.
        """
        system = self.system
        if not self.is_naive:
            # This edit also completes an interrupted one.
            system.edit_campaign(replace(self._campaign().plan, status=CampaignStatus.ON))
            if self.random.random() < 0.5:
                self.trace.append("the cache fails over to an older replica in the end")
                system.lots.fail_over(self.random.choice(self._snapshots))
            self._judge()
        system.pass_time(max(0, self._campaign().ends_at_ms - system.clock.now_ms()))
        self.end_all()
        # I10: a retry always gets the same answer.
        for attempt, draw in [] if self.is_naive else list(self.told_to.items()):
            try:
                self._draw_in_the_end(attempt)
            except errors.Rejected as refusal:
                self._complain("I10", attempt, str(draw), refusal.code)
                continue
            if (again := self.told_to[attempt]) != draw:
                self._complain("I10", attempt, str(draw), str(again))
        system.pass_time(BOUND_MS)

    def _judge(self) -> None:
        """Let all users draw, and draw again after the bound, when every refusal must be right."""
        for is_last in (False, True):
            for attempt in self.attempts:
                try:
                    self._draw_in_the_end(attempt)
                except errors.Rejected as refusal:
                    self.trace.append(f"{attempt} is told {refusal.code} in the end")
                    self.seen["refusals"] += 1
                    if is_wrong := self._is_wrong(attempt, refusal):
                        self.seen[f"wrong {refusal.code}"] += 1
                    if is_wrong and is_last:
                        self._complain("refusal", attempt, "the truth", refusal.code)
            self.system.pass_time(0 if is_last else BOUND_MS)

    def _is_wrong(self, attempt: DrawAttempt, refusal: errors.Rejected) -> bool:
        """Return whether the ledger contradicts the refusal."""
        system, campaign = self.system, self._campaign()
        now_ms = system.clock.now_ms()
        match refusal:
            case errors.RateLimited():
                return False
            case CampaignPaused():
                return campaign.status is CampaignStatus.ON
            case CampaignEnded():
                return now_ms < campaign.ends_at_ms - 2 * SKEW_MAX_MS
            case AttemptsExhausted():
                day = lottery.draw_day(campaign, now_ms)
                if min(now_ms - day.starts_at_ms, day.ends_at_ms - now_ms) < 2 * SKEW_MAX_MS:
                    return False  # Near midnight, the day depends on the clock.
                count_max = campaign.rules.attempts_per_user_per_day
                player = system.draws.find_player(ID, attempt[0], day.name)
                return count_max == 0 or player.attempt_count < count_max
        return True

    def _draw_in_the_end(self, attempt: DrawAttempt) -> None:
        # Retry: a crashed worker may still hold the lease to load the campaign.
        for _ in range(4):
            try:
                self._draw(self.a_lambda(), attempt)
            except errors.Unavailable:
                self.system.pass_time(2_000)
            else:
                return
        self._complain("I8", attempt, "an answer", "none, though all is well")

    def _campaign(self) -> Campaign:
        campaign = self.system.campaigns.find_campaign(ID)
        assert campaign
        return campaign

    def _complain(self, rule: str, attempt: DrawAttempt, expected: str, actual: str) -> None:
        self.differences.append(Difference(rule, " ".join(attempt), "draw", expected, actual))

    def _overdrawn(self, facts: LotteryFacts) -> list[Difference]:
        """Check I9 by counting the draws instead of trusting the counters."""
        counted: Counter[tuple[str, ...]] = Counter()
        most: dict[tuple[str, ...], int] = {}
        rules = self._campaign().rules
        helped = Counter(
            {(player.user_id, player.day): player.help_count for player in facts.players}
        )

        def count(*key: str, at_most: int) -> None:
            counted[key] += 1
            most[key] = at_most

        for draw in facts.draws:
            self.seen["draws counted again"] += 1
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

    def _unproved(self, draws: Iterable[lottery.Draw]) -> list[Difference]:
        """Check that every draw follows from its day's seed."""
        draws, snapshots = list(draws), self.system.snapshots()
        self.seen["draws proved"] += len(draws)
        return [
            Difference("I5", draw.draw_id, "prize by its seed", str(true), str(stated))
            for draw in draws
            if (true := odds.choose(draw.odds, self._point(draw, snapshots)))
            != (stated := draw.prize.prize_id if draw.prize else None)
        ]

    @staticmethod
    def _point(draw: lottery.Draw, snapshots: CachedSnapshots) -> int:
        return odds.draw_point(snapshots.seed(ID, draw.day), ID, draw.user_id, draw.draw_no)
