"""Container for preheats, approvals, and edits of campaigns, prizes, audiences and winners."""

from dataclasses import dataclass, replace
from functools import cache, cached_property, partial

from redpacket.approvals.dynamodb.approvals import DynamoApprovals
from redpacket.campaigns.use_cases.edit_audience import AudiencePorts
from redpacket.containers.campaigns import CampaignsContainer
from redpacket.containers.container import Container
from redpacket.containers.lottery import LotteryContainer
from redpacket.containers.packets import PacketsContainer
from redpacket.lottery.dynamodb.edited_campaigns import DynamoEditedCampaigns
from redpacket.lottery.dynamodb.winners import DynamoWinners
from redpacket.lottery.use_cases.cash_rules import check_list
from redpacket.lottery.use_cases.decide_winner import WinnerPorts
from redpacket.lottery.use_cases.edit_campaign import CampaignPorts
from redpacket.lottery.use_cases.edit_prize import PrizePorts
from redpacket.lottery.use_cases.load_campaign import LoadPorts, load_edited
from redpacket.lottery.use_cases.preheat_campaign import PreheatPorts
from redpacket.operations.model.allowances import ApprovalLimits
from redpacket.operations.use_cases.approval_policy import ApprovalPolicy
from redpacket.platform.user import UserIds


@dataclass(eq=False)
class EditingContainer(Container):
    campaigns: CampaignsContainer
    packets: PacketsContainer
    lottery: LotteryContainer

    @cached_property
    def approvals(self) -> DynamoApprovals:
        return DynamoApprovals(self.dynamo, cache(lambda: UserIds(self.settings.user_id_key)))

    @cached_property
    def approval_policy(self) -> ApprovalPolicy:
        limits = ApprovalLimits(*self.settings.approval_fen)
        return ApprovalPolicy(allowances=self.approvals, clock=self.clock, limits=limits)

    @cached_property
    def prize_ports(self) -> PrizePorts:
        return PrizePorts(
            prizes=self.lottery.prize_rows,
            codes=self.lottery.codes,
            clock=self.clock,
            new_id=self.packets.new_packet_id,
            new_seed=self.platform.new_seed,
            share_fen_max=self.settings.share_fen_max,
            approval_policy=self.approval_policy,
            load=self.prize_load_ports,
        )

    @cached_property
    def edited_campaigns(self) -> DynamoEditedCampaigns:
        """Repository for the functions that edit campaigns."""
        return DynamoEditedCampaigns(self.dynamo, self.platform.new_seed, self.platform.seeds)

    @cached_property
    def campaign_ports(self) -> CampaignPorts:
        return CampaignPorts(
            campaigns=self.edited_campaigns,
            prizes=self.lottery.prizes,
            packets=self.packets.repository,
            clock=self.clock,
            approval_policy=self.approval_policy,
            load=self.load_ports,
        )

    @cached_property
    def load_ports(self) -> LoadPorts:
        return replace(self.prize_load_ports, prizes=self.lottery.prizes)

    @cached_property
    def prize_load_ports(self) -> LoadPorts:
        """Ports for loading edited prizes into the cache, without the seed keys."""
        return LoadPorts(
            campaigns=self.campaigns.repository,
            prizes=self.lottery.prize_rows,
            draw_cache=self.lottery.draw_cache,
            clock=self.clock,
            logger=self.logger,
        )

    @cached_property
    def winner_ports(self) -> WinnerPorts:
        return WinnerPorts(
            winners=DynamoWinners(self.dynamo),
            prizes=self.lottery.prize_rows,
            clock=self.clock,
            approval_policy=self.approval_policy,
            load=self.prize_load_ports,
        )

    @cached_property
    def audience_ports(self) -> AudiencePorts:
        load = partial(load_edited, ports=self.load_ports)
        rows, cache = self.campaigns.audience_rows, self.campaigns.audience_cache
        check = partial(check_list, prizes=self.lottery.prize_rows, policy=self.approval_policy)
        return AudiencePorts(self.campaigns.repository, rows, cache, load, check)

    @cached_property
    def preheat_ports(self) -> PreheatPorts:
        return PreheatPorts(
            campaigns=self.campaigns.repository,
            packets=self.packets.repository,
            claim_cache=self.packets.claim_cache,
            load_audience=self.campaigns.load_audience,
            in_parallel=self.platform.in_parallel,
            clock=self.clock,
            logger=self.logger,
        )
