"""Draws, helps and winners."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

from redpacket.containers.container import Container

if TYPE_CHECKING:
    from redpacket.containers.campaigns import CampaignsContainer
    from redpacket.containers.fairness import FairnessContainer
    from redpacket.containers.operations import OperationsContainer
    from redpacket.containers.packets import PacketsContainer
    from redpacket.containers.users import UsersContainer
    from redpacket.lottery.dynamodb.draws import DynamoDraws
    from redpacket.lottery.model.winners import Winner
    from redpacket.lottery.ports import Codes, DrawCache, DrawRepository
    from redpacket.lottery.use_cases.cached_lotteries import CachedLotteries
    from redpacket.lottery.use_cases.cached_rains import CachedRains
    from redpacket.lottery.use_cases.cached_snapshots import CachedSnapshots
    from redpacket.lottery.use_cases.draw_prize import DrawResult
    from redpacket.lottery.use_cases.help_inviter import Helped
    from redpacket.lottery.use_cases.read_draws import DrawPage, DrawProof, WatchedLottery
    from redpacket.packets.model.seed_keys import SeedKeys


@dataclass(eq=False)
class LotteryContainer(Container):
    """Draws, helps and winners."""

    operations: OperationsContainer
    campaigns: CampaignsContainer
    packets: PacketsContainer
    fairness: FairnessContainer
    users: UsersContainer

    @cached_property
    def draws(self) -> DrawRepository:
        return self._draws(opened_by=self.platform.seeds)

    @cached_property
    def recorded_draws(self) -> DrawRepository:
        """Repository for the function that draws, which stores winners' host ids."""
        return self._draws(
            profiles_table=self.settings.profiles_table,
            opened_by=self.platform.seeds,
            audience_table=self.settings.audience_table,
            codes_table=self.settings.codes_table,
            asks_verdicts=self.settings.has_verdicts,
        )

    @cached_property
    def prize_draws(self) -> DrawRepository:
        """Repository for the function that edits prizes, without the keys of seeds."""
        return self._draws(self.settings.packets_table, journal_table=self.settings.journal_table)

    def _draws(
        self,
        packets_table: str | None = None,
        profiles_table: str | None = None,
        opened_by: SeedKeys | None = None,
        audience_table: str | None = None,
        journal_table: str | None = None,
        *,
        codes_table: str | None = None,
        asks_verdicts: bool = False,
    ) -> DynamoDraws:
        from redpacket.lottery.dynamodb.draws import DynamoDraws

        return DynamoDraws(
            self.dynamo,
            self.settings.campaigns_table,
            self.settings.shares_table,
            self.settings.draws_table,
            packets_table,
            profiles_table,
            journal_table=journal_table,
            seeds=opened_by,
            audience_table=audience_table,
            codes_table=codes_table,
            asks_verdicts=asks_verdicts,
        )

    @cached_property
    def codes(self) -> Codes:
        from redpacket.lottery.dynamodb.codes import DynamoCodes

        return DynamoCodes(self.dynamo, self.settings.codes_table)

    @cached_property
    def show_codes(self) -> partial[dict[str, str]]:
        from redpacket.lottery.use_cases.show_codes import show_codes

        return partial(show_codes, codes=self.codes, profiles=self.users.profiles)

    @cached_property
    def draw_cache(self) -> DrawCache:
        from redpacket.lottery.redis.draws import RedisDraws

        return RedisDraws(self.platform.cache_client)

    @cached_property
    def snapshots(self) -> CachedSnapshots:
        from redpacket.lottery.use_cases.cached_snapshots import CachedSnapshots

        return CachedSnapshots(self.draws, clock=self.clock, journal=self.journal)

    @cached_property
    def lotteries(self) -> CachedLotteries:
        from redpacket.lottery.use_cases.cached_lotteries import CachedLotteries

        return CachedLotteries(self.draws, self.draw_cache, clock=self.clock, journal=self.journal)

    @cached_property
    def rains(self) -> CachedRains:
        from redpacket.lottery.use_cases.cached_rains import CachedRains

        return CachedRains(
            self.campaigns.repository,
            self.packets.pages,
            clock=self.clock,
            journal=self.journal,
        )

    @cached_property
    def draw_prize(self) -> partial[DrawResult]:
        from redpacket.lottery.use_cases.draw_ports import DrawPorts
        from redpacket.lottery.use_cases.draw_prize import draw_prize

        ports = DrawPorts(
            claim_cache=self.draw_cache,
            draws=self.recorded_draws,
            tables=self.snapshots,
            rounds=self.fairness.cached_rounds,
            payouts=self.packets.payouts,
            clock=self.clock,
            journal=self.journal,
            risk=self.operations.risk,
        )
        return partial(draw_prize, ports=ports)

    @cached_property
    def help_inviter(self) -> partial[Helped]:
        from redpacket.lottery.use_cases.help_inviter import HelpPorts, help_inviter

        ports = HelpPorts(
            claim_cache=self.draw_cache,
            draws=self.draws,
            tables=self.snapshots,
            phrases=self.packets.phrases,
            limits=self.operations.limits,
            clock=self.clock,
            journal=self.journal,
        )
        return partial(help_inviter, ports=ports)

    @cached_property
    def list_draws(self) -> partial[DrawPage]:
        from redpacket.lottery.use_cases.read_draws import list_draws

        return partial(list_draws, draws=self.draws, tables=self.snapshots)

    @cached_property
    def read_draw_proof(self) -> partial[DrawProof]:
        from redpacket.lottery.use_cases.read_draws import read_draw_proof

        return partial(
            read_draw_proof,
            tables=self.snapshots,
            rounds=self.fairness.cached_rounds,
            draws=self.draws,
            clock=self.clock,
        )

    @cached_property
    def watch_lottery(self) -> partial[WatchedLottery]:
        from redpacket.lottery.use_cases.read_draws import watch_lottery

        return partial(
            watch_lottery,
            campaigns=self.campaigns.repository,
            draws=self.draws,
            clock=self.clock,
        )

    @cached_property
    def list_winners(self) -> partial[tuple[list[tuple[Winner, int]], tuple[str, int] | None]]:
        from redpacket.lottery.dynamodb.winners import DynamoWinners
        from redpacket.lottery.use_cases.list_winners import list_winners

        return partial(
            list_winners,
            draws=self.draws,
            winners=DynamoWinners(self.dynamo, self.settings.draws_table),
        )
