"""What operators list, change and approve, besides campaigns."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property, partial

from redpacket.approvals.dynamodb.approvals import DynamoApprovals
from redpacket.approvals.dynamodb.operator_lists import DynamoOperatorLists
from redpacket.approvals.model import Approval
from redpacket.approvals.ports import Approvals, OperatorLists
from redpacket.approvals.use_cases.apply_approval import apply_approval
from redpacket.approvals.use_cases.ask_approval import AskPorts, ask_approval
from redpacket.approvals.use_cases.decide_approval import DecidePorts, approve, reject
from redpacket.approvals.use_cases.list_packets import count_sharers, list_claims, list_packets
from redpacket.containers.campaigns import CampaignsContainer
from redpacket.containers.container import Container
from redpacket.containers.editing import EditingContainer
from redpacket.containers.ledger import LedgerContainer
from redpacket.containers.lottery import LotteryContainer
from redpacket.containers.operations import OperationsContainer
from redpacket.containers.packets import PacketsContainer
from redpacket.ledger.dynamodb.deposits import DynamoDeposits
from redpacket.ledger.ports import Deposits
from redpacket.ledger.use_cases.deposit import deposit
from redpacket.lottery.dynamodb.winners import DynamoWinners
from redpacket.lottery.model.winners import Winner
from redpacket.lottery.use_cases.list_winners import list_winners
from redpacket.operations.audit_ports import AuditLog
from redpacket.operations.dynamodb.audit_log import DynamoActions
from redpacket.operations.dynamodb.verdicts import DynamoVerdicts
from redpacket.operations.model.operators import Action, ActionKind, Change
from redpacket.operations.model.switches import SwitchState
from redpacket.operations.risk_ports import RiskDecisions
from redpacket.operations.use_cases.judge_user import judge_user
from redpacket.operations.use_cases.turn_switch import set_limit, turn_switch
from redpacket.packets.model.claim import Share
from redpacket.packets.model.packet import Packet


@dataclass(eq=False)
class OperatorsContainer(Container):
    """What operators list, change and approve, besides campaigns."""

    operations: OperationsContainer
    ledger: LedgerContainer
    campaigns: CampaignsContainer
    packets: PacketsContainer
    lottery: LotteryContainer
    editing: EditingContainer

    @cached_property
    def actions(self) -> AuditLog:
        return DynamoActions(self.dynamo, self.settings.journal_table)

    def note_action(
        self, operator_id: str, kind: ActionKind, subject: str, changes: tuple[Change, ...] = ()
    ) -> None:
        """Log an operator's action that no transaction logs, before it is carried out."""
        self.actions.note(Action(operator_id, kind, subject, self.clock.now_ms(), changes))

    @cached_property
    def turn_switch(self) -> partial[SwitchState]:
        store, clock = self.operations.switch_store, self.clock
        return partial(
            turn_switch, switches=store, actions=self.actions, clock=clock, logger=self.logger
        )

    @cached_property
    def set_limit(self) -> partial[int | None]:
        store, clock = self.operations.switch_store, self.clock
        return partial(
            set_limit, switches=store, actions=self.actions, clock=clock, logger=self.logger
        )

    @cached_property
    def verdicts(self) -> RiskDecisions:
        return DynamoVerdicts(self.dynamo, self.settings.audience_table)

    @cached_property
    def judge_user(self) -> partial[None]:
        return partial(judge_user, verdicts=self.verdicts, is_asked=self.settings.has_verdicts)

    @cached_property
    def deposits(self) -> Deposits:
        return DynamoDeposits(
            self.dynamo,
            self.settings.accounts_table,
            self.settings.profiles_table,
            self.settings.journal_table,
            self.settings.approvals_table,
        )

    @cached_property
    def deposit(self) -> partial[tuple[str, int]]:
        return partial(
            deposit,
            amount_fen_max=self.settings.deposit_fen_max,
            deposits=self.deposits,
            ledger=self.ledger.repository,
            four_eyes=self.operations.four_eyes,
            clock=self.clock,
        )

    @cached_property
    def operator_lists(self) -> OperatorLists:
        return DynamoOperatorLists(
            self.dynamo, self.settings.campaigns_table, self.settings.packets_table
        )

    @cached_property
    def list_packets(self) -> partial[tuple[list[Packet], str | None]]:
        return partial(
            list_packets,
            campaigns=self.campaigns.repository,
            packets=self.packets.repository,
            lists=self.operator_lists,
            pages=self.packets.pages,
        )

    @cached_property
    def list_claims(self) -> partial[tuple[list[Share], int | None]]:
        return partial(list_claims, packets=self.packets.repository, pages=self.packets.pages)

    @cached_property
    def count_sharers(self) -> partial[tuple[Counter[str], int | None]]:
        return partial(count_sharers, packets=self.packets.repository, pages=self.packets.pages)

    @cached_property
    def list_winners(self) -> partial[tuple[list[tuple[Winner, int]], tuple[str, int] | None]]:
        winners = DynamoWinners(self.dynamo, self.settings.draws_table)
        return partial(list_winners, draws=self.lottery.draws, winners=winners)

    @cached_property
    def approvals(self) -> Approvals:
        return DynamoApprovals(
            self.dynamo, self.settings.approvals_table, self.settings.journal_table
        )

    @cached_property
    def ask_approval(self) -> partial[Approval]:
        approvals = DynamoApprovals(
            self.dynamo,
            self.settings.approvals_table,
            self.settings.journal_table,
            self.settings.profiles_table,
        )
        return partial(ask_approval, ports=AskPorts(approvals=approvals, clock=self.clock))

    @cached_property
    def _decide_ports(self) -> DecidePorts:
        apply = partial(
            apply_approval,
            deposit=self.deposit,
            edit_campaign=self.editing.edit_campaign,
            put_prize=self.editing.put_prize,
            change_stock=self.editing.change_stock,
        )
        return DecidePorts(approvals=self.approvals, clock=self.clock, apply=apply)

    @cached_property
    def approve(self) -> partial[Approval]:
        return partial(approve, ports=self._decide_ports)

    @cached_property
    def reject(self) -> partial[Approval]:
        return partial(reject, ports=self._decide_ports)
