"""Any story of sends, grabs, deliveries, sweeps, crashes and failovers keeps every invariant."""

from __future__ import annotations

import os
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule

from redpacket.domain.errors import Rejected
from redpacket.domain.packet import Packet, PacketStatus
from tests.town import LIFE_MS, Town

USERS = st.sampled_from(["ann", "bob", "cat", "dan", "eve"])


class Story(RuleBasedStateMachine):
    """What can happen, in any order; hypothesis shrinks a broken story to its shortest form."""

    packets = Bundle("packets")

    def __init__(self) -> None:
        super().__init__()
        self.town = Town()
        self.replica: dict[str, Any] = {}

    @rule(target=packets, total_fen=st.integers(5, 500), count=st.integers(1, 5))
    def somebody_sends(self, total_fen: int, count: int) -> Packet:
        return self.town.send(total_fen=total_fen, count=count)

    @rule(packet=packets, user=USERS)
    def a_user_grabs(self, packet: Packet, user: str) -> None:
        try:
            self.town.grab(packet, user)
        except Rejected as refusal:
            # Whoever was told an amount is never refused: I5.
            told = [t for t in self.town.told if t.user_id == user]
            assert packet.packet_id not in [t.packet_id for t in told], refusal.code

    @rule(packet=packets, user=USERS)
    def a_lambda_dies_between_cache_and_ledger(self, packet: Packet, user: str) -> None:
        self.town.memory.grab(packet.packet_id, user)

    @rule()
    def the_queue_delivers(self) -> None:
        assert self.town.settle() == set()

    @rule()
    def the_queue_delivers_twice(self) -> None:
        refs = list(self.town.queue.refs)
        assert self.town.settle(refs) == set()

    @rule()
    def the_queue_loses_everything(self) -> None:
        self.town.queue.take_all()

    @rule()
    def the_schedule_runs(self) -> None:
        self.town.repair()
        report = self.town.expire()
        assert report.failed_count == 0

    @rule(duration_ms=st.sampled_from([1, 30_000, LIFE_MS]))
    def time_passes(self, duration_ms: int) -> None:
        self.town.pass_time(duration_ms)

    @rule()
    def the_replica_catches_up(self) -> None:
        self.replica = self.town.memory.snapshot()

    @rule()
    def the_cache_fails_over(self) -> None:
        self.town.memory.fail_over(self.replica)
        self.replica = self.town.memory.snapshot()

    @rule()
    def the_cache_is_flushed(self) -> None:
        self.town.memory.boards.clear()

    @invariant()
    def not_a_fen_is_made_or_lost(self) -> None:
        assert self.town.differences() == []

    def teardown(self) -> None:
        """I8: left to itself, everything is settled and closed."""
        for _ in range(10):
            self.town.pass_time(LIFE_MS)
            self.town.repair()
            self.town.expire()
            self.town.settle()
        assert self.town.differences(bound_ms=10 * LIFE_MS) == []
        statuses = {facts.packet.status for facts in self.town.world().packets}
        assert statuses <= {PacketStatus.CLOSED}


TestTown = Story.TestCase
# RELIABILITY §5 asks for 2,000 stories of 100 steps on demand: HYPOTHESIS_STORIES=2000.
TestTown.settings = settings(
    max_examples=int(os.environ.get("HYPOTHESIS_STORIES", "100")),
    stateful_step_count=50,
    deadline=None,
)
