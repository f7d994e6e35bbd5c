"""Wiring of campaigns and lotteries."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

from redpacket.edge.wiring.beacon import BeaconRoom

if TYPE_CHECKING:
    from redpacket.adapters.dynamo.draws import DynamoDraws
    from redpacket.domain.campaign import Campaign
    from redpacket.domain.lottery import Prize, PrizeStock
    from redpacket.domain.seed_keys import SeedKeys
    from redpacket.domain.winners import Winner
    from redpacket.flows.campaigns.apply_edit import EditPorts
    from redpacket.flows.campaigns.cached_lotteries import CachedLotteries
    from redpacket.flows.campaigns.cached_rains import CachedRains
    from redpacket.flows.campaigns.cached_snapshots import CachedSnapshots
    from redpacket.flows.campaigns.draw_prize import Drawn
    from redpacket.flows.campaigns.edit_audience import Audience
    from redpacket.flows.campaigns.edit_prize import PrizePorts
    from redpacket.flows.campaigns.help_inviter import Helped
    from redpacket.flows.campaigns.preheat_campaign import Preheated
    from redpacket.flows.campaigns.read_draws import DrawPage, DrawProof, WatchedLottery
    from redpacket.ports.campaigns import Campaigns, DrawCache, Draws
    from redpacket.ports.packets import Packets


class CampaignRoom(BeaconRoom):
    """Wiring of flows/campaigns."""

    @cached_property
    def draws(self) -> Draws:
        return self._draws(opened_by=self.seeds)

    @cached_property
    def recorded_draws(self) -> Draws:
        """Repository for the function that draws, which stores winners' host ids."""
        return self._draws(
            profiles_table=self.settings.profiles_table,
            opened_by=self.seeds,
            audience_table=self.settings.audience_table,
            asks_verdicts=self.settings.has_verdicts,
        )

    @cached_property
    def prize_draws(self) -> Draws:
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
        asks_verdicts: bool = False,
    ) -> DynamoDraws:
        from redpacket.adapters.dynamo.draws import DynamoDraws

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
            asks_verdicts=asks_verdicts,
        )

    @cached_property
    def draw_cache(self) -> DrawCache:
        from redpacket.adapters.redis.draws import RedisDraws

        return RedisDraws(self.cache_client)

    @cached_property
    def snapshots(self) -> CachedSnapshots:
        from redpacket.flows.campaigns.cached_snapshots import CachedSnapshots

        return CachedSnapshots(self.draws, clock=self.clock, journal=self.journal)

    @cached_property
    def lotteries(self) -> CachedLotteries:
        from redpacket.flows.campaigns.cached_lotteries import CachedLotteries

        return CachedLotteries(self.draws, self.draw_cache, clock=self.clock, journal=self.journal)

    @cached_property
    def rains(self) -> CachedRains:
        from redpacket.flows.campaigns.cached_rains import CachedRains

        return CachedRains(self.campaigns, self.pages, clock=self.clock, journal=self.journal)

    @cached_property
    def get_campaign(self) -> partial[Campaign]:
        from redpacket.flows.campaigns.edit_campaign import get_campaign

        return partial(get_campaign, campaigns=self.campaigns)

    @cached_property
    def draw_prize(self) -> partial[Drawn]:
        from redpacket.flows.campaigns.draw_ports import DrawPorts
        from redpacket.flows.campaigns.draw_prize import draw_prize

        ports = DrawPorts(
            claim_cache=self.draw_cache,
            draws=self.recorded_draws,
            tables=self.snapshots,
            rounds=self.cached_rounds,
            payouts=self.payouts,
            clock=self.clock,
            journal=self.journal,
            risk=self.risk,
        )
        return partial(draw_prize, ports=ports)

    @cached_property
    def help_inviter(self) -> partial[Helped]:
        from redpacket.flows.campaigns.help_inviter import HelpPorts, help_inviter

        ports = HelpPorts(
            claim_cache=self.draw_cache,
            draws=self.draws,
            tables=self.snapshots,
            phrases=self.phrases,
            limits=self.limits,
            clock=self.clock,
            journal=self.journal,
        )
        return partial(help_inviter, ports=ports)

    @cached_property
    def list_draws(self) -> partial[DrawPage]:
        from redpacket.flows.campaigns.read_draws import list_draws

        return partial(list_draws, draws=self.draws, tables=self.snapshots)

    @cached_property
    def read_draw_proof(self) -> partial[DrawProof]:
        from redpacket.flows.campaigns.read_draws import read_draw_proof

        return partial(
            read_draw_proof,
            tables=self.snapshots,
            rounds=self.cached_rounds,
            draws=self.draws,
            clock=self.clock,
        )

    @cached_property
    def watch_lottery(self) -> partial[WatchedLottery]:
        from redpacket.flows.campaigns.read_draws import watch_lottery

        return partial(watch_lottery, campaigns=self.campaigns, draws=self.draws, clock=self.clock)

    @cached_property
    def prize_ports(self) -> PrizePorts:
        from redpacket.flows.campaigns.edit_prize import PrizePorts

        return PrizePorts(
            draws=self.prize_draws,
            funding=self.prize_funding,
            packets=self.packet_rows,
            clock=self.clock,
            new_id=self.new_packet_id,
            new_seed=self.new_seed,
            share_fen_max=self.settings.share_fen_max,
            four_eyes=self.four_eyes,
        )

    @cached_property
    def edited_campaigns(self) -> Campaigns:
        """Repository for the function that edits campaigns and announces beacon campaigns."""
        from redpacket.adapters.dynamo.campaigns import DynamoCampaigns

        return DynamoCampaigns(
            self.dynamo,
            self.settings.campaigns_table,
            self.new_seed,
            self.seeds,
            self.settings.transparency_table,
            self.settings.journal_table,
            self.settings.approvals_table,
            self.settings.commitments_table,
        )

    @cached_property
    def edit_ports(self) -> EditPorts:
        from redpacket.domain.campaign import DrawBeacon

        ports = self._edit_ports(self.edited_campaigns, self.draws, self.packets)
        default = DrawBeacon(self.settings.default_draw_beacon)
        return replace(ports, new_beacon=self.new_beacon, default_beacon=default)

    @cached_property
    def prize_edit_ports(self) -> EditPorts:
        """Ports of prize edits, without the keys of seeds."""
        return self._edit_ports(self.campaign_rows, self.prize_draws, self.packet_rows)

    def _edit_ports(self, stored: Campaigns, drawn: Draws, sent: Packets) -> EditPorts:
        from redpacket.flows.campaigns.apply_edit import EditPorts

        return EditPorts(
            campaigns=stored,
            draws=drawn,
            packets=sent,
            draw_cache=self.draw_cache,
            clock=self.clock,
            journal=self.journal,
            four_eyes=self.four_eyes,
        )

    @cached_property
    def edit_campaign(self) -> partial[tuple[WatchedLottery, bool]]:
        from redpacket.flows.campaigns.apply_edit import apply_campaign

        return partial(apply_campaign, ports=self.edit_ports)

    @cached_property
    def put_prize(self) -> partial[tuple[Prize, PrizeStock, bool]]:
        from redpacket.flows.campaigns.apply_edit import apply_prize

        return partial(apply_prize, prize_ports=self.prize_ports, ports=self.prize_edit_ports)

    @cached_property
    def change_stock(self) -> partial[tuple[Prize, PrizeStock]]:
        from redpacket.flows.campaigns.apply_edit import apply_stock

        return partial(apply_stock, prize_ports=self.prize_ports, ports=self.prize_edit_ports)

    @cached_property
    def edit_audience(self) -> partial[Audience]:
        from redpacket.flows.campaigns.edit_audience import edit_audience

        return partial(
            edit_audience,
            campaigns=self.campaigns,
            rows=self.audience_rows,
            cache=self.audience_cache,
            load_lottery=self.load_lottery,
        )

    @cached_property
    def decide_winner(self) -> partial[Winner]:
        from redpacket.adapters.dynamo.winners import DynamoWinners
        from redpacket.flows.campaigns.apply_edit import apply_decision
        from redpacket.flows.campaigns.decide_winner import WinnerPorts

        ports = WinnerPorts(
            winners=DynamoWinners(
                self.dynamo, self.settings.draws_table, self.settings.journal_table
            ),
            draws=self.prize_draws,
            clock=self.clock,
        )
        return partial(apply_decision, winner_ports=ports, ports=self.prize_edit_ports)

    @cached_property
    def load_lottery(self) -> partial[None]:
        from redpacket.flows.campaigns.apply_edit import load_edited

        return partial(load_edited, ports=self.edit_ports)

    def preheat_campaign(
        self, campaign_id: str, cursor: str | None, time_left_ms: int
    ) -> Preheated:
        from redpacket.flows.campaigns.preheat_campaign import preheat_campaign

        return preheat_campaign(
            campaign_id,
            cursor,
            campaigns=self.campaigns,
            packets=self.packets,
            claim_cache=self.claim_cache,
            load_audience=self.load_audience,
            in_parallel=self.in_parallel,
            clock=self.clock,
            journal=self.journal,
            stop_at_ms=self.clock.now_ms() + time_left_ms,
        )
