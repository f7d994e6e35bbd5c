"""Edits of campaigns and prizes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial

from redpacket.campaigns.model import DrawBeacon
from redpacket.campaigns.ports import EditedCampaigns
from redpacket.campaigns.use_cases.edit_audience import Audience, edit_audience
from redpacket.containers.campaigns import CampaignsContainer
from redpacket.containers.container import Container
from redpacket.containers.fairness import FairnessContainer
from redpacket.containers.lottery import LotteryContainer
from redpacket.containers.operations import OperationsContainer
from redpacket.containers.packets import PacketsContainer
from redpacket.lottery.dynamodb.edited_campaigns import DynamoEditedCampaigns
from redpacket.lottery.dynamodb.winners import DynamoWinners
from redpacket.lottery.model.lottery import Prize, PrizeStock
from redpacket.lottery.model.winners import Winner
from redpacket.lottery.ports import DrawRepository
from redpacket.lottery.use_cases.apply_edit import (
    LoadPorts,
    apply_campaign,
    apply_codes,
    apply_decision,
    apply_prize,
    apply_stock,
    load_edited,
)
from redpacket.lottery.use_cases.decide_winner import WinnerPorts
from redpacket.lottery.use_cases.edit_campaign import CampaignPorts
from redpacket.lottery.use_cases.edit_prize import PrizePorts
from redpacket.lottery.use_cases.preheat_campaign import Preheated, preheat_campaign
from redpacket.lottery.use_cases.read_draws import WatchedLottery


@dataclass(eq=False)
class EditingContainer(Container):
    """Edits of campaigns and prizes."""

    operations: OperationsContainer
    campaigns: CampaignsContainer
    packets: PacketsContainer
    fairness: FairnessContainer
    lottery: LotteryContainer

    @cached_property
    def prize_ports(self) -> PrizePorts:
        return PrizePorts(
            draws=self.lottery.prize_draws,
            funding=self.packets.prize_funding,
            packets=self.packets.packet_rows,
            codes=self.lottery.codes,
            clock=self.clock,
            new_id=self.packets.new_packet_id,
            new_seed=self.platform.new_seed,
            share_fen_max=self.settings.share_fen_max,
            four_eyes=self.operations.four_eyes,
        )

    @cached_property
    def edited_campaigns(self) -> EditedCampaigns:
        """Repository for the function that edits campaigns and announces beacon campaigns."""
        return DynamoEditedCampaigns(
            self.dynamo,
            self.settings.campaigns_table,
            self.platform.new_seed,
            self.platform.seeds,
            self.settings.transparency_table,
            self.settings.journal_table,
            self.settings.approvals_table,
            self.settings.commitments_table,
        )

    @cached_property
    def campaign_ports(self) -> CampaignPorts:
        return CampaignPorts(
            campaigns=self.edited_campaigns,
            draws=self.lottery.draws,
            packets=self.packets.repository,
            clock=self.clock,
            four_eyes=self.operations.four_eyes,
            new_beacon=self.fairness.new_beacon,
            default_beacon=DrawBeacon(self.settings.default_draw_beacon),
        )

    @cached_property
    def load_ports(self) -> LoadPorts:
        return self._load_ports(self.lottery.draws)

    @cached_property
    def prize_load_ports(self) -> LoadPorts:
        """Ports that load edited prizes, without the keys of seeds."""
        return self._load_ports(self.lottery.prize_draws)

    def _load_ports(self, draws: DrawRepository) -> LoadPorts:
        return LoadPorts(
            campaigns=self.campaigns.repository,
            draws=draws,
            draw_cache=self.lottery.draw_cache,
            clock=self.clock,
            logger=self.logger,
        )

    @cached_property
    def edit_campaign(self) -> partial[tuple[WatchedLottery, bool]]:
        return partial(apply_campaign, campaign_ports=self.campaign_ports, ports=self.load_ports)

    @cached_property
    def put_prize(self) -> partial[tuple[Prize, PrizeStock, bool]]:
        return partial(apply_prize, prize_ports=self.prize_ports, ports=self.prize_load_ports)

    @cached_property
    def change_stock(self) -> partial[tuple[Prize, PrizeStock]]:
        return partial(apply_stock, prize_ports=self.prize_ports, ports=self.prize_load_ports)

    @cached_property
    def add_codes(self) -> partial[tuple[Prize, PrizeStock]]:
        return partial(apply_codes, prize_ports=self.prize_ports, ports=self.prize_load_ports)

    @cached_property
    def edit_audience(self) -> partial[Audience]:
        return partial(
            edit_audience,
            campaigns=self.campaigns.repository,
            rows=self.campaigns.audience_rows,
            cache=self.campaigns.audience_cache,
            load_lottery=self.load_lottery,
        )

    @cached_property
    def decide_winner(self) -> partial[Winner]:
        ports = WinnerPorts(
            winners=DynamoWinners(
                self.dynamo, self.settings.draws_table, self.settings.journal_table
            ),
            draws=self.lottery.prize_draws,
            clock=self.clock,
        )
        return partial(apply_decision, winner_ports=ports, ports=self.prize_load_ports)

    @cached_property
    def load_lottery(self) -> partial[None]:
        return partial(load_edited, ports=self.load_ports)

    def preheat_campaign(
        self, campaign_id: str, cursor: str | None, time_left_ms: int
    ) -> Preheated:
        return preheat_campaign(
            campaign_id,
            cursor,
            campaigns=self.campaigns.repository,
            packets=self.packets.repository,
            claim_cache=self.packets.claim_cache,
            load_audience=self.campaigns.load_audience,
            in_parallel=self.platform.in_parallel,
            clock=self.clock,
            logger=self.logger,
            stop_at_ms=self.clock.now_ms() + time_left_ms,
        )
