"""Container for draws, prizes, helps and rains."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from redpacket.containers.container import Container, on_dynamo
from redpacket.lottery.dynamodb.draws import DynamoDraws
from redpacket.lottery.dynamodb.prizes import DynamoPrizes
from redpacket.lottery.redis.draws import RedisDraws
from redpacket.lottery.use_cases.cached_snapshots import CachedSnapshots

if TYPE_CHECKING:
    from redpacket.containers.campaigns import CampaignsContainer
    from redpacket.containers.operations import OperationsContainer
    from redpacket.containers.packets import PacketsContainer
    from redpacket.lottery.dynamodb.addresses import DynamoAddresses
    from redpacket.lottery.dynamodb.codes import DynamoCodes
    from redpacket.lottery.ports import DrawCache
    from redpacket.lottery.use_cases.cached_lotteries import CachedLotteries
    from redpacket.lottery.use_cases.cached_rains import CachedRains
    from redpacket.lottery.use_cases.draw_attempt import DrawPorts
    from redpacket.lottery.use_cases.help_inviter import HelpPorts


@dataclass(eq=False)
class LotteryContainer(Container):
    operations: OperationsContainer
    campaigns: CampaignsContainer
    packets: PacketsContainer

    draws = on_dynamo(DynamoDraws)

    @cached_property
    def recorded_draws(self) -> DynamoDraws:
        return DynamoDraws(self.dynamo, asks_verdicts=self.settings.has_verdicts)

    @cached_property
    def prizes(self) -> DynamoPrizes:
        return DynamoPrizes(self.dynamo, self.platform.seeds)

    prize_rows = on_dynamo(DynamoPrizes)
    """Repository without the seed keys, for functions that must not compute draws."""

    @cached_property
    def codes(self) -> DynamoCodes:
        from redpacket.lottery.dynamodb.codes import DynamoCodes

        return DynamoCodes(self.dynamo)

    @cached_property
    def addresses(self) -> DynamoAddresses:
        from redpacket.lottery.dynamodb.addresses import DynamoAddresses

        return DynamoAddresses(self.dynamo)

    @cached_property
    def draw_cache(self) -> DrawCache:
        return RedisDraws(self.platform.cache_client)

    @cached_property
    def snapshots(self) -> CachedSnapshots:
        return CachedSnapshots(self.prizes, clock=self.clock, logger=self.logger)

    @cached_property
    def lotteries(self) -> CachedLotteries:
        from redpacket.lottery.use_cases.cached_lotteries import CachedLotteries

        return CachedLotteries(self.prizes, self.draw_cache, clock=self.clock, logger=self.logger)

    @cached_property
    def rains(self) -> CachedRains:
        from redpacket.lottery.use_cases.cached_rains import CachedRains

        return CachedRains(
            self.campaigns.repository,
            self.packets.pages,
            self.packets.repository,
            self.campaigns.rain_plans.list_rounds,
            clock=self.clock,
            logger=self.logger,
        )

    @cached_property
    def draw_ports(self) -> DrawPorts:
        from redpacket.lottery.use_cases.draw_attempt import DrawPorts

        return DrawPorts(
            draw_cache=self.draw_cache,
            draws=self.recorded_draws,
            prizes=self.prizes,
            snapshots=self.snapshots,
            payouts=self.packets.payouts,
            clock=self.clock,
            logger=self.logger,
            risk=self.operations.risk,
        )

    @cached_property
    def help_ports(self) -> HelpPorts:
        from redpacket.lottery.use_cases.help_inviter import HelpPorts

        return HelpPorts(
            draw_cache=self.draw_cache,
            draws=self.draws,
            snapshots=self.snapshots,
            phrases=self.packets.phrases,
            limits=self.operations.limits,
            clock=self.clock,
            logger=self.logger,
        )
