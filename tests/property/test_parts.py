"""Invariants of sharded packets: no share is claimed twice, and owners always get their share."""

import os

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from redpacket.packets.errors import PacketEmptied
from redpacket.packets.model.claim import EMPTIED_KEPT_MS, Admission
from redpacket.packets.model.packet import (
    Opening,
    Rules,
    other_shards,
    shard_count,
    shard_id,
    shard_of_user,
)
from redpacket.packets.use_cases.sharded_claims import ShardedClaims
from redpacket.platform.errors import Rejected, Unavailable
from testing.builders import a_campaign
from testing.in_memory_system import LIFE_MS, InMemorySystem

USERS = [f"user-{number}" for number in range(14)]
TRIES = 5
"""Maximum attempts per grab. Each attempt repairs up to four of at most nine shards."""


class PartsScenario(RuleBasedStateMachine):
    """Cache nodes that lose their data in any order, and two processes that cache their reads."""

    @initialize(
        count=st.integers(2, 9),
        shard_share_count=st.integers(1, 5),
        opening=st.sampled_from(Opening),
    )
    def an_operator_sends(self, count: int, shard_share_count: int, opening: Opening) -> None:
        self.system = InMemorySystem()
        self.system.shard_share_count = shard_share_count
        campaign = a_campaign(quota_per_user=1)
        self.system.campaigns.create(campaign)
        self.packet = self.system.send(
            total_fen=1000, count=count, rules=Rules(opening=opening), campaign=campaign
        )
        self.shards = shard_count(self.packet.packet_id)
        # Users with a share number that only the cache stores. No other user gets the number, and
        # if the user's mark is lost, neither does the user.
        self.stranded: set[str] = set()
        self.processes = [
            ShardedClaims(self.system.memory, clock=self.system.clock) for _ in range(2)
        ]

    @rule(user=st.sampled_from(USERS), process=st.integers(0, 1))
    def a_user_grabs(self, user: str, process: int) -> None:
        self.system.claim_cache = self.processes[process]
        told = {t.user_id: t for t in self.system.told}
        try:
            self._grab(user)
        except Rejected as refusal:
            # I5 holds even if the cache loses data.
            assert user not in told, refusal.code
            assert isinstance(refusal, PacketEmptied) or self._is_over()

    def _grab(self, user: str) -> None:
        for _ in range(TRIES):
            try:
                answer = self.system.grab_or_enter(self.packet, user)
                if isinstance(answer, Admission):
                    self.system.open(self.packet, user, answer.grab_token)
            except Unavailable:
                continue  # One attempt repairs at most a few shards.
            return
        raise AssertionError("no user is served")

    @rule(user=st.sampled_from(USERS), process=st.integers(0, 1))
    def a_lambda_dies_between_cache_and_ledger(self, user: str, process: int) -> None:
        self.processes[process].take(self.packet.packet_id, user, str(self.packet.terms))
        self.stranded.add(user)

    @rule(user=st.sampled_from(USERS))
    def a_lambda_dies_between_two_parts(self, user: str) -> None:
        """Take a share number, but do not mark it in the user's first shard."""
        packet_id = self.packet.packet_id
        others = other_shards(packet_id, user) if self.shards > 1 else []
        for part in (shard_of_user(packet_id, user), *others):
            cache_id = shard_id(packet_id, part) if self.shards > 1 else packet_id
            outcome = self.system.memory.take(cache_id, user, str(self.packet.terms))
            if outcome.status != "packet_emptied":
                self.stranded.add(user)
                return

    @precondition(lambda self: self.shards > 1)
    @rule(shards=st.sets(st.integers(0, 8), min_size=1))
    def nodes_lose_their_data(self, shards: set[int]) -> None:
        for shard in shards:
            self.system.memory.caches.pop(shard_id(self.packet.packet_id, shard), None)

    @rule()
    def an_operator_preheats(self) -> None:
        self.system.load_packet(self.packet.packet_id)

    @rule(duration_ms=st.sampled_from([1, EMPTIED_KEPT_MS, LIFE_MS // 3]))
    def time_passes(self, duration_ms: int) -> None:
        self.system.pass_time(duration_ms)

    @rule()
    def the_schedule_runs(self) -> None:
        self.system.settle()
        assert self.system.expire().failed_count == 0

    @invariant()
    def not_a_fen_is_made_or_lost(self) -> None:
        if hasattr(self, "packet"):
            assert self.system.differences() == []

    def teardown(self) -> None:
        """Check that users who arrive while shares are left get one, and that the rest is
        refunded.
        """
        if not hasattr(self, "packet"):
            return
        if not self._is_over():
            self._everybody_comes()
        for _ in range(5):
            self.system.pass_time(LIFE_MS)
            self.system.repair()
            self.system.expire()
            self.system.settle()
        assert self.system.differences(bound_ms=10 * LIFE_MS) == []
        for user in {t.user_id for t in self.system.told}:
            assert not self.system.grab(self.packet, user).is_new

    def _everybody_comes(self) -> None:
        everybody = [*USERS, *[f"late-{number}" for number in range(9)]]
        for _ in range(3):
            for user in everybody:
                self.a_user_grabs(user, 0)
            self.system.pass_time(EMPTIED_KEPT_MS)
        owners = {t.user_id for t in self.system.told}
        left = self.packet.terms.count - len(owners)
        assert left <= len(self.stranded) or self._is_over()

    def _is_over(self) -> bool:
        return self.system.clock.now_ms() >= self.packet.expires_at_ms


TestParts = PartsScenario.TestCase
TestParts.settings = settings(
    max_examples=int(os.environ.get("HYPOTHESIS_SCENARIOS", "40")),
    stateful_step_count=40,
)
