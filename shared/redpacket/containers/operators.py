"""Container for operators' tasks, such as deposits, switches, lists and erasures."""

from dataclasses import dataclass
from functools import cached_property, partial

from redpacket.approvals.dynamodb.operator_lists import DynamoOperatorLists
from redpacket.approvals.use_cases.apply_approval import apply_approval
from redpacket.approvals.use_cases.decide_approval import DecidePorts
from redpacket.approvals.use_cases.list_packets import ListPorts
from redpacket.containers.campaigns import CampaignsContainer
from redpacket.containers.container import Container, on_dynamo
from redpacket.containers.editing import EditingContainer
from redpacket.containers.operations import OperationsContainer
from redpacket.containers.packets import PacketsContainer
from redpacket.containers.users import UsersContainer
from redpacket.erasure.dynamodb.erasure import DynamoErasure
from redpacket.erasure.dynamodb.holdings import DynamoHoldings
from redpacket.erasure.use_cases.erase_user import erase_user
from redpacket.erasure.use_cases.unmark_account import unmark_account
from redpacket.ledger.dynamodb.deposits import DynamoDeposits
from redpacket.ledger.use_cases.deposit import DepositPorts
from redpacket.lottery.dynamodb.winners import DynamoWinners
from redpacket.operations.clients.outcome_counts import CloudWatchOutcomes
from redpacket.operations.dynamodb.audit_log import DynamoActions
from redpacket.operations.dynamodb.verdicts import DynamoVerdicts
from redpacket.operations.use_cases.turn_switch import SwitchPorts


@dataclass(eq=False)
class OperatorsContainer(Container):
    operations: OperationsContainer
    users: UsersContainer
    campaigns: CampaignsContainer
    packets: PacketsContainer
    editing: EditingContainer

    actions = on_dynamo(DynamoActions)

    @cached_property
    def switch_ports(self) -> SwitchPorts:
        return SwitchPorts(self.operations.switch_store, self.actions, self.clock, self.logger)

    verdicts = on_dynamo(DynamoVerdicts)

    @cached_property
    def outcome_counts(self) -> CloudWatchOutcomes:
        namespace = self.settings.metrics_namespace
        return CloudWatchOutcomes(lambda: self.platform.aws("cloudwatch"), namespace, self.clock)

    deposits = on_dynamo(DynamoDeposits)

    @cached_property
    def deposit_ports(self) -> DepositPorts:
        return DepositPorts(
            amount_fen_max=self.settings.deposit_fen_max,
            deposits=self.deposits,
            ledger=self.packets.ledger,
            approval_policy=self.editing.approval_policy,
            clock=self.clock,
            fix_unit=self.operations.switch_store.fix_unit,
        )

    operator_lists = on_dynamo(DynamoOperatorLists)

    @cached_property
    def list_ports(self) -> ListPorts:
        campaigns, prizes = self.campaigns.repository, self.editing.lottery.prize_rows
        packets, pages = self.packets.repository, self.packets.pages
        return ListPorts(campaigns, prizes.list_prizes, packets, self.operator_lists, pages)

    winners = on_dynamo(DynamoWinners)

    @cached_property
    def decide_ports(self) -> DecidePorts:
        apply = partial(
            apply_approval,
            deposits=self.deposit_ports,
            campaigns=self.editing.campaign_ports,
            prizes=self.editing.prize_ports,
        )
        return DecidePorts(approvals=self.editing.approvals, clock=self.clock, apply=apply)

    @cached_property
    def holdings(self) -> DynamoHoldings:
        return DynamoHoldings(self.dynamo, self.platform.in_parallel)

    @cached_property
    def unmark_account(self) -> partial[None]:
        """Use case that removes the mark for campaign money from an empty account."""
        return partial(unmark_account, holdings=self.holdings, clock=self.clock)

    @cached_property
    def erase_user(self) -> partial[None]:
        """Use case that erases a user who has no money and no pending business."""
        return partial(
            erase_user,
            holdings=self.holdings,
            erasure=DynamoErasure(self.dynamo, self.platform.in_parallel),
            profiles=self.users.profiles,
            pictures=self.packets.pictures,
            clock=self.clock,
        )
