"""Invariants under random draws, helps, edits, midnights, crashes and failovers."""

import os
from collections import Counter
from dataclasses import replace
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from redpacket.campaigns.model import CampaignStatus, DrawRules, WhenSoldOut
from redpacket.lottery.model import lottery, odds
from redpacket.packets.model.packet import PacketStatus
from redpacket.platform.errors import InvalidRequest, Rejected, Unavailable
from testing.builders import NOW_MS, a_campaign, a_prize
from testing.in_memory_system import LIFE_MS, InMemorySystem

DAY_MS = 24 * 3_600_000
ENDS_AT_MS = NOW_MS + 10 * DAY_MS
USERS = st.sampled_from(["ann", "bob", "cat"])
KEYS = st.sampled_from(["one", "two", "three", "four"])
KINDS = [kind for kind in lottery.PrizeKind if kind is not lottery.PrizeKind.CODE]
"""All kinds except codes, whose stock follows uploads (tests/unit/lottery/test_codes.py)."""

some_rules = st.builds(
    DrawRules,
    attempts_per_user_per_day=st.integers(0, 3),
    wins_per_user_per_day=st.integers(0, 2),
    guaranteed_after_misses=st.integers(0, 2),
    helps_per_user_per_day=st.integers(0, 2),
)


@st.composite
def some_prizes(draw: st.DrawFn) -> list[lottery.Prize]:
    return [
        a_prize(
            "gala",
            f"prize-{number}",
            kind=kind,
            amount_fen=7 if kind is lottery.PrizeKind.PACKET else None,
            weight=draw(st.integers(0, 10)),
            total=draw(st.integers(1, 4)),
            per_day=draw(st.integers(0, 2)),
            per_hour=draw(st.integers(0, 2)),
            once_per_user=draw(st.booleans()),
        )
        for number, kind in enumerate(draw(st.lists(st.sampled_from(KINDS), max_size=3)))
    ]


class Scenario(RuleBasedStateMachine):
    """Possible events in any order; hypothesis shrinks a failing scenario to its shortest form."""

    def __init__(self) -> None:
        super().__init__()
        self.system = InMemorySystem()
        self.replica: dict[str, Any] = self.system.lots.snapshot()
        self.told: dict[tuple[str, str], lottery.Draw] = {}
        self.miss_streaks: Counter[tuple[str, str]] = Counter()

    @initialize(
        rules=some_rules,
        prizes=some_prizes(),
        miss_weight=st.integers(0, 20),
        when_sold_out=st.sampled_from(WhenSoldOut),
    )
    def an_operator_plans(
        self,
        rules: DrawRules,
        prizes: list[lottery.Prize],
        miss_weight: int,
        when_sold_out: WhenSoldOut,
    ) -> None:
        self.draw_rules = rules
        self.system.deposit("operator", 10_000)
        campaign = a_campaign(
            campaign_id="gala",
            rules=rules,
            miss_weight=miss_weight,
            when_sold_out=when_sold_out,
            passphrase="恭喜发财",
            ends_at_ms=ENDS_AT_MS,
        )
        self.system.campaigns.create(campaign)
        for prize in prizes:
            self.system.put_prize(prize)

    @rule(user=USERS, key=KEYS)
    def a_user_draws(self, user: str, key: str) -> None:
        earlier = self.told.get((user, key))
        try:
            draw = self.system.draw("gala", user, key).draw
        except Rejected as refusal:
            # I5: a user who got an outcome is never refused.
            assert earlier is None, refusal.code
            return
        except Unavailable:
            self.system.pass_time(2_000)
            return
        assert earlier in {None, draw}
        if earlier is None:
            self._is_not_one_miss_too_many(draw)
        self.told[user, key] = draw

    def _is_not_one_miss_too_many(self, draw: lottery.Draw) -> None:
        """Check that a guaranteed prize is won while a unit is left, even if the cache loses
        data.
        """
        promised_after = self.draw_rules.guaranteed_after_misses
        player = draw.user_id, draw.day
        if draw.prize:
            self.miss_streaks[player] = 0
            return
        is_promised = 0 < promised_after <= self.miss_streaks[player]
        assert not is_promised or draw.odds.startswith("|")
        self.miss_streaks[player] += 1

    @rule(user=USERS, key=KEYS)
    def a_lambda_dies_between_cache_and_ledger(self, user: str, key: str) -> None:
        snapshots = self.system.snapshots()
        day = lottery.draw_day(snapshots.get("gala").campaign, self.system.clock.now_ms())
        draw_no = self.system.draws.find_attempt(
            "gala", user, key, day.name, asks_audience=False
        ).draw_no
        draw_id = lottery.draw_id_of("gala", user, day.name, draw_no)
        point = odds.draw_point(snapshots.seed("gala", day.name), "gala", user, draw_no)
        self.system.lots.draw(lottery.DrawRequest("gala", user, draw_id, day, point))

    @rule(helper=USERS, inviter=USERS)
    def a_friend_helps(self, helper: str, inviter: str) -> None:
        try:
            self.system.help("gala", helper, inviter)
        except Rejected:
            return

    @rule(number=st.integers(0, 2), delta=st.integers(-2, 2))
    def the_stock_changes(self, number: int, delta: int) -> None:
        prizes = self.system.prizes.list_prizes("gala")
        if number >= len(prizes) or self._is_over():
            return
        try:
            self.system.change_stock(prizes[number], delta)
        except InvalidRequest:
            return

    @rule(
        number=st.integers(0, 2), weight=st.integers(0, 10), status=st.sampled_from(CampaignStatus)
    )
    def a_prize_is_edited(self, number: int, weight: int, status: CampaignStatus) -> None:
        prizes = self.system.prizes.list_prizes("gala")
        if number < len(prizes) and not self._is_over():
            self.system.put_prize(replace(prizes[number], weight=weight, status=status))

    def _is_over(self) -> bool:
        return self.system.clock.now_ms() >= ENDS_AT_MS

    @rule()
    def the_cache_hears_of_edits(self) -> None:
        self.system.load_campaign("gala")

    @rule()
    def the_schedule_runs(self) -> None:
        self.system.repair()
        assert self.system.expire().failed_count == 0
        assert self.system.settle() == set()

    @rule(duration_ms=st.sampled_from([1, 2_000, 3_600_000, DAY_MS, 3 * DAY_MS]))
    def time_passes(self, duration_ms: int) -> None:
        self.system.pass_time(duration_ms)

    @rule()
    def the_replica_catches_up(self) -> None:
        self.replica = self.system.lots.snapshot()

    @rule()
    def the_cache_fails_over(self) -> None:
        self.system.lots.fail_over(self.replica)
        self.replica = self.system.lots.snapshot()

    @rule()
    def the_cache_is_flushed(self) -> None:
        self.system.lots.forget()

    @invariant()
    def nothing_is_won_that_is_not_there(self) -> None:
        assert self.system.differences() == []

    def teardown(self) -> None:
        """I8: in the end all wins are paid, and the rest is refunded to the operator."""
        self.system.clock.at_ms = max(self.system.clock.at_ms, ENDS_AT_MS)
        for _ in range(10):
            self.system.pass_time(LIFE_MS)
            self.system.repair()
            self.system.expire()
            self.system.settle()
        ledger_state = self.system.ledger_state()
        assert self.system.differences(bound_ms=10 * LIFE_MS) == []
        assert {facts.packet.status for facts in ledger_state.packets} <= {PacketStatus.CLOSED}
        won_fen = sum(
            draw.prize.amount_fen or 0
            for facts in ledger_state.lotteries
            for draw in facts.draws
            if draw.prize
        )
        users_fen = sum(self.system.balance_fen(user) for user in ("ann", "bob", "cat"))
        assert users_fen == won_fen
        # The balance is 0 if hypothesis stopped before the deposit.
        assert self.system.balance_fen("operator") in {10_000 - won_fen, 0}


TestLottery = Scenario.TestCase
TestLottery.settings = settings(
    max_examples=int(os.environ.get("HYPOTHESIS_SCENARIOS", "40")),
    stateful_step_count=50,
)
