"""Container for accounts, and for sending, grabbing, opening, settling and sweeping packets."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from redpacket.containers.container import Container
from redpacket.packets.api.packet_ids import new_packet_id
from redpacket.platform.runtime import deferred
from redpacket.platform.telemetry import current_request
from redpacket.platform.time_budget import time_budget

if TYPE_CHECKING:
    from redpacket.containers.campaigns import CampaignsContainer
    from redpacket.containers.operations import OperationsContainer
    from redpacket.packets import ports
    from redpacket.packets.clients.lambda_payments import LambdaPayments
    from redpacket.packets.dynamodb.claims import DynamoClaims
    from redpacket.packets.dynamodb.ledger import DynamoLedger
    from redpacket.packets.dynamodb.packets import DynamoPackets
    from redpacket.packets.dynamodb.pages import DynamoPages
    from redpacket.packets.dynamodb.work_lists import DynamoWorkLists
    from redpacket.packets.redis.shards import RedisShards
    from redpacket.packets.use_cases.cached_emptied import CachedEmptied
    from redpacket.packets.use_cases.claim_ports import ClaimPorts
    from redpacket.packets.use_cases.expire_packets import SweepPorts
    from redpacket.packets.use_cases.send_packet import SendPorts
    from redpacket.packets.use_cases.settle_claims import SettlePorts

_ORDER_TIMEOUT_S = 8
"""Seconds to wait for a cold start and the provider; after that, the sender polls the payment."""


@dataclass(eq=False)
class PacketsContainer(Container):
    operations: OperationsContainer
    campaigns: CampaignsContainer

    admission_factor = 5
    """Maximum number of concurrently admitted users per share."""
    shard_share_count = 20_000
    """Share count above which a campaign's packet is sharded; also a shard's approximate size."""

    @cached_property
    def ledger(self) -> DynamoLedger:
        from redpacket.packets.dynamodb.ledger import DynamoLedger

        return DynamoLedger(self.dynamo)

    @cached_property
    def packet_funding(self) -> ports.Funding:
        from redpacket.packets.dynamodb.funding import DynamoFunding

        return DynamoFunding(self.dynamo, self.settings.open_packets_max)

    @cached_property
    def repository(self) -> DynamoPackets:
        from redpacket.packets.dynamodb.packets import DynamoPackets

        return DynamoPackets(self.dynamo, self.platform.seeds)

    @cached_property
    def packet_rows(self) -> DynamoPackets:
        """Repository without the seed keys, so it cannot compute amounts."""
        from redpacket.packets.dynamodb.packets import DynamoPackets

        return DynamoPackets(self.dynamo)

    @cached_property
    def pages(self) -> DynamoPages:
        from redpacket.packets.dynamodb.pages import DynamoPages

        return DynamoPages(self.dynamo, self.platform.seeds)

    @cached_property
    def recorder(self) -> DynamoClaims:
        from redpacket.packets.dynamodb.claims import DynamoClaims

        return DynamoClaims(self.dynamo, asks_verdicts=self.settings.has_verdicts)

    def work_lists(self, group: int, groups: int) -> DynamoWorkLists:
        """Return the work lists for sweep number *group* out of *groups*."""
        from redpacket.ledger.dynamodb.keys import work_shards
        from redpacket.packets.dynamodb.work_lists import DynamoWorkLists

        return DynamoWorkLists(self.dynamo, work_shards(group, groups))

    @cached_property
    def shard_cache(self) -> RedisShards:
        from redpacket.packets.redis.shards import RedisShards

        return RedisShards(self.platform.cache_client, self.platform.seed_keys)

    @cached_property
    def claim_cache(self) -> ports.ClaimCache:
        from redpacket.packets.use_cases.sharded_claims import ShardedClaims

        return ShardedClaims(self.shard_cache, clock=self.clock)

    @cached_property
    def emptied(self) -> CachedEmptied:
        from redpacket.packets.use_cases.cached_emptied import CachedEmptied

        return CachedEmptied(self.claim_cache, clock=self.clock)

    @cached_property
    def quotas(self) -> ports.Quotas:
        from redpacket.packets.redis.quotas import RedisQuotas

        return RedisQuotas(self.platform.cache_client)

    @cached_property
    def payouts(self) -> ports.PayoutQueue:
        from redpacket.packets.clients.sqs_payouts import SqsPayouts

        return SqsPayouts(
            lambda: self.platform.aws("sqs"),
            self.settings.payout_queue_url,
            self.clock.now_ms,
            lambda: current_request.request_id,
        )

    @cached_property
    def phrases(self) -> ports.Phrases:
        """Passphrase comparison; only grab, lottery and chat have the layer with its libraries."""
        from redpacket.packets import pinyin

        return pinyin

    def new_packet_id(self, shards: int) -> str:
        return new_packet_id(shards)

    @cached_property
    def claim_ports(self) -> ClaimPorts:
        from redpacket.packets.use_cases.claim_ports import ClaimPorts

        return ClaimPorts(
            claim_cache=self.claim_cache,
            turns=self.shard_cache,
            emptied=self.emptied,
            packets=deferred(lambda: self.repository),
            recorder=deferred(lambda: self.recorder),
            payouts=deferred(lambda: self.payouts),
            costs=deferred(lambda: self.operations.grab_costs),
            phrases=deferred(lambda: self.phrases),
            limits=deferred(lambda: self.operations.limits),
            campaigns=deferred(lambda: self.campaigns.cached_campaigns),
            quotas=deferred(lambda: self.quotas),
            load_audience=self.campaigns.load_audience,
            risk=self.operations.risk,
            seeds=self.platform.seed_keys,
            admission_factor=self.admission_factor,
            clock=self.clock,
            logger=self.logger,
        )

    @cached_property
    def send_ports(self) -> SendPorts:
        from redpacket.packets.use_cases.send_packet import SendPorts

        return SendPorts(
            funding=self.packet_funding,
            packets=self.repository,
            ledger=deferred(lambda: self.ledger),
            claim_cache=self.claim_cache,
            clock=self.clock,
            logger=self.logger,
            new_id=self.new_packet_id,
            new_seed=self.platform.new_seed,
            seeds=self.platform.seed_keys,
            pictures=self.pictures,
            shard_share_count=self.shard_share_count,
        )

    @cached_property
    def settle_ports(self) -> SettlePorts:
        from redpacket.packets.use_cases.settle_claims import SettlePorts

        return SettlePorts(
            ledger=self.ledger,
            packets=self.repository,
            pages=self.pages,
            payouts=self.payouts,
            clock=self.clock,
            logger=self.logger,
            in_parallel=self.operations.payouts_in_parallel,
        )

    @cached_property
    def pictures(self) -> ports.Pictures:
        from redpacket.packets.clients.s3_pictures import S3Pictures

        return S3Pictures(lambda: self.platform.aws("s3"), self.settings.pictures_bucket)

    @cached_property
    def payments(self) -> LambdaPayments:
        from redpacket.packets.clients.lambda_payments import LambdaPayments

        return LambdaPayments(
            lambda: self.platform.aws(
                "lambda", read_timeout_s=time_budget.timeout_s(_ORDER_TIMEOUT_S), tries=1
            ),
            self.settings.order_function,
        )

    def sweep_ports(self, group: int, groups: int) -> SweepPorts:
        from redpacket.packets.use_cases.expire_packets import SweepPorts

        return SweepPorts(
            work=self.work_lists(group, groups),
            packets=self.repository,
            campaigns=self.campaigns.repository,
            pages=self.pages,
            claim_cache=self.claim_cache,
            ledger=self.ledger,
            payouts=self.payouts,
            pictures=self.pictures,
            clock=self.clock,
            logger=self.logger,
            grace_ms=self.settings.close_grace_ms,
            in_parallel=self.platform.in_parallel,
        )
