"""Changes that a second operator approves."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property, partial

from redpacket.approvals.dynamodb.approvals import DynamoApprovals
from redpacket.approvals.model import Approval
from redpacket.approvals.ports import Approvals
from redpacket.approvals.use_cases.apply_approval import apply_approval
from redpacket.approvals.use_cases.ask_approval import AskPorts, ask_approval
from redpacket.approvals.use_cases.decide_approval import DecidePorts, approve, reject
from redpacket.containers.container import Container
from redpacket.containers.editing import EditingContainer
from redpacket.containers.ledger import LedgerContainer
from redpacket.containers.packets import PacketsContainer
from redpacket.packets.use_cases.list_packets import count_sharers


@dataclass(eq=False)
class ApprovalsContainer(Container):
    """Changes that a second operator approves."""

    ledger: LedgerContainer
    packets: PacketsContainer
    editing: EditingContainer

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
    def count_sharers(self) -> partial[tuple[Counter[str], int | None]]:
        return partial(count_sharers, packets=self.packets.repository, pages=self.packets.pages)

    @cached_property
    def repository(self) -> Approvals:
        return DynamoApprovals(
            self.dynamo,
            self.settings.approvals_table,
            self.settings.journal_table,
        )

    @cached_property
    def _decide_ports(self) -> DecidePorts:
        return DecidePorts(
            approvals=self.repository,
            clock=self.clock,
            apply=partial(
                apply_approval,
                deposit=self.ledger.deposit,
                edit_campaign=self.editing.edit_campaign,
                put_prize=self.editing.put_prize,
                change_stock=self.editing.change_stock,
            ),
        )

    @cached_property
    def approve(self) -> partial[Approval]:
        return partial(approve, ports=self._decide_ports)

    @cached_property
    def reject(self) -> partial[Approval]:
        return partial(reject, ports=self._decide_ports)
