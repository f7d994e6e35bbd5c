"""Invariants under random sends, grabs, deliveries, sweeps, crashes and failovers."""

import os
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule

from redpacket.campaigns.model import Campaign
from redpacket.packets.model.claim import Admission
from redpacket.packets.model.packet import Opening, Packet, PacketStatus, Rules
from redpacket.platform.errors import Rejected
from testing.builders import NOW_MS, a_campaign
from testing.in_memory_system import LIFE_MS, InMemorySystem

QUOTAS = {"limited": 2, "free": 0}
USERS = st.sampled_from(["ann", "bob", "cat", "dan", "eve"])


class Scenario(RuleBasedStateMachine):
    """Possible events in any order; hypothesis shrinks a failing scenario to its shortest form."""

    packets = Bundle("packets")

    def __init__(self) -> None:
        super().__init__()
        self.system = InMemorySystem()
        self.replica: dict[str, Any] = {}

    @rule(
        target=packets,
        total_fen=st.integers(5, 500),
        count=st.integers(1, 5),
        opening=st.sampled_from(Opening),
        campaign_id=st.sampled_from([None, "limited", "free"]),
    )
    def somebody_sends(
        self, total_fen: int, count: int, opening: Opening, campaign_id: str | None
    ) -> Packet:
        campaign = self._campaign(campaign_id) if campaign_id else None
        rules = Rules(opening=opening)
        return self.system.send(total_fen=total_fen, count=count, rules=rules, campaign=campaign)

    def _campaign(self, campaign_id: str) -> Campaign:
        campaign = self.system.campaigns.find_campaign(campaign_id)
        if campaign is None:
            campaign = a_campaign(
                campaign_id=campaign_id,
                quota_per_user=QUOTAS[campaign_id],
                budget_fen=10**9,
                budget_left_fen=10**9,
                ends_at_ms=NOW_MS + 10**9,
            )
            self.system.campaigns.create(campaign)
        return campaign

    @rule(packet=packets, user=USERS)
    def a_user_grabs(self, packet: Packet, user: str) -> None:
        try:
            answer = self.system.grab_or_enter(packet, user)
            if isinstance(answer, Admission):
                self.system.open(packet, user, answer.grab_token)
        except Rejected as refusal:
            # I5: a user who got an amount is never refused.
            told = [t for t in self.system.told if t.user_id == user]
            assert packet.packet_id not in [t.packet_id for t in told], refusal.code

    @rule(packet=packets, user=USERS)
    def a_lambda_dies_between_cache_and_ledger(self, packet: Packet, user: str) -> None:
        self.system.memory.take(packet.packet_id, user, str(packet.terms))

    @rule()
    def the_queue_delivers(self) -> None:
        assert self.system.settle() == set()

    @rule()
    def the_queue_delivers_twice(self) -> None:
        refs = list(self.system.queue.refs)
        assert self.system.settle(refs) == set()

    @rule()
    def the_queue_loses_everything(self) -> None:
        self.system.queue.take_all()

    @rule()
    def the_schedule_runs(self) -> None:
        self.system.repair()
        report = self.system.expire()
        assert report.failed_count == 0

    @rule(duration_ms=st.sampled_from([1, 30_000, LIFE_MS]))
    def time_passes(self, duration_ms: int) -> None:
        self.system.pass_time(duration_ms)

    @rule()
    def the_replica_catches_up(self) -> None:
        self.replica = self.system.memory.snapshot()

    @rule()
    def the_cache_fails_over(self) -> None:
        self.system.memory.fail_over(self.replica)
        self.replica = self.system.memory.snapshot()

    @rule()
    def the_cache_is_flushed(self) -> None:
        self.system.memory.caches.clear()

    @rule()
    def the_cache_forgets_quotas(self) -> None:
        self.system.reserved.forget()

    @invariant()
    def not_a_fen_is_made_or_lost(self) -> None:
        assert self.system.differences() == []

    @invariant()
    def nobody_has_more_than_the_quota(self) -> None:
        counts = self.system.ledger_state().claim_counts
        limited = [count for (campaign_id, _), count in counts.items() if campaign_id == "limited"]
        assert all(count <= QUOTAS["limited"] for count in limited)

    def teardown(self) -> None:
        """I8: without further requests, all claims are settled and all packets are closed."""
        for _ in range(10):
            self.system.pass_time(LIFE_MS)
            self.system.repair()
            self.system.expire()
            self.system.settle()
        assert self.system.differences(bound_ms=10 * LIFE_MS) == []
        statuses = {facts.packet.status for facts in self.system.ledger_state().packets}
        assert statuses <= {PacketStatus.CLOSED}


TestTown = Scenario.TestCase
# For a longer run, set HYPOTHESIS_SCENARIOS=2000.
TestTown.settings = settings(
    max_examples=int(os.environ.get("HYPOTHESIS_SCENARIOS", "40")),
    stateful_step_count=50,
)
