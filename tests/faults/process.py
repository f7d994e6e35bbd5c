"""One Lambda of many, with its own clock, memory, and share of the sweeps."""

from collections.abc import Callable
from typing import Any

from local.seed_keys import PUBLISHED_SEEDS
from redpacket.campaigns.use_cases.cached_campaigns import CachedCampaigns
from redpacket.ledger.dynamodb.deposits import DynamoDeposits
from redpacket.ledger.dynamodb.keys import WORK_SHARDS
from redpacket.lottery.dynamodb.draws import DynamoDraws
from redpacket.lottery.dynamodb.edited_campaigns import DynamoEditedCampaigns
from redpacket.lottery.dynamodb.prizes import DynamoPrizes
from redpacket.lottery.ports import DrawCache
from redpacket.operations.dynamodb.audit_log import DynamoActions
from redpacket.operations.ports import Limits, SwitchCopy, SwitchStore
from redpacket.operations.use_cases.cached_switches import CachedSwitches
from redpacket.packets.clients.sqs_payouts import SqsPayouts
from redpacket.packets.dynamodb.claims import DynamoClaims
from redpacket.packets.dynamodb.funding import DynamoFunding
from redpacket.packets.dynamodb.ledger import DynamoLedger
from redpacket.packets.dynamodb.packets import DynamoPackets
from redpacket.packets.dynamodb.pages import DynamoPages
from redpacket.packets.dynamodb.work_lists import DynamoWorkLists
from redpacket.packets.model.claim import ShareRef
from redpacket.packets.ports import Quotas
from redpacket.packets.use_cases.cached_emptied import CachedEmptied
from redpacket.packets.use_cases.sharded_claims import ShardedClaims
from redpacket.platform.dynamodb.client import Dynamo
from redpacket.users.dynamodb.profiles import DynamoProfiles
from testing.fakes import FakeClock
from testing.faulty import FaultyClaimCache
from testing.in_memory_system import InMemorySystem, PlainIds
from testing.platform.fake_tables import TABLE_NAMES

SKEW_MAX_MS = 2_000


class SkewedClock(FakeClock):
    """Clock that is fast or slow; other parts run while it sleeps."""

    def __init__(self, clock: FakeClock, skew_ms: int, sleep_ms: Callable[[int], None]) -> None:
        self._clock = clock
        self._skew_ms = skew_ms
        self._sleep_ms = sleep_ms

    def now_ms(self) -> int:
        return self._clock.now_ms() + self._skew_ms

    def sleep_ms(self, duration_ms: int) -> None:
        self._sleep_ms(duration_ms)


class Wires:
    """Dependencies of a process, each behind a wire."""

    def __init__(
        self,
        *,
        dynamo: Any,
        sqs: Any,
        claim_cache: FaultyClaimCache,
        draw_cache: DrawCache,
        quotas: Quotas,
        limits: Limits,
        switches: SwitchStore,
        switch_copy: SwitchCopy,
        pause_s: Callable[[float], None],
    ) -> None:
        self.dynamo = dynamo
        self.sqs = sqs
        self.claim_cache = claim_cache
        self.draw_cache = draw_cache
        self.quotas = quotas
        self.limits = limits
        self.switches = switches
        self.switch_copy = switch_copy
        self.pause_s = pause_s


class Process(InMemorySystem):
    """A system's users, money and recorded answers, as one Lambda reaches them."""

    def __init__(
        self,
        system: InMemorySystem,
        wires: Wires,
        clock: FakeClock,
        *,
        group: int = 0,
        groups: int = 1,
    ) -> None:
        # Everything else belongs to the system: the same users, ids and answers.
        vars(self).update(vars(system))
        self.clock = clock
        dynamo = Dynamo(lambda: wires.dynamo, TABLE_NAMES, pause_s=wires.pause_s)
        shards, seeds = range(group, WORK_SHARDS, groups), PUBLISHED_SEEDS
        self.packets = DynamoPackets(dynamo, seeds)
        self.recorder = DynamoClaims(dynamo)
        self.work = DynamoWorkLists(dynamo, shards)
        self.ledger = DynamoLedger(dynamo)
        self.deposits = DynamoDeposits(dynamo)
        self.funding = DynamoFunding(dynamo)
        self.pages = DynamoPages(dynamo, seeds)
        self.profiles = DynamoProfiles(dynamo, PlainIds.id_of)
        self.campaigns = DynamoEditedCampaigns(dynamo, system._new_seed, seeds)
        self.draws, self.prizes = DynamoDraws(dynamo), DynamoPrizes(dynamo, seeds)
        self.claim_cache = ShardedClaims(wires.claim_cache, clock=clock)
        self.turns = wires.claim_cache
        self.draw_cache = wires.draw_cache
        self.quotas = wires.quotas
        self.limits = wires.limits
        self.payouts = SqsPayouts(lambda: wires.sqs, "queue", clock.now_ms)
        emptied = CachedEmptied(self.claim_cache, clock=clock)
        self.read_emptied = lambda: emptied
        campaigns = CachedCampaigns(self.campaigns, clock=clock, logger=self.logger)
        self.recall_campaigns = lambda: campaigns
        self.known_snapshots = self.snapshots()
        self.switch_store = wires.switches
        self.actions = DynamoActions(dynamo)
        self.switches = CachedSwitches(
            store=wires.switches, copy=wires.switch_copy, clock=clock, logger=self.logger
        )

    def pay(self, refs: Any) -> set[ShareRef]:
        """Settle the claims of a batch, or queue them for later while payouts are off."""
        return self.settle(list(refs))
