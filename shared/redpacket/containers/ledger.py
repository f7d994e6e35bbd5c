"""Accounts and deposits."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

from redpacket.containers.container import Container

if TYPE_CHECKING:
    from redpacket.containers.operations import OperationsContainer
    from redpacket.ledger.ports import Deposits
    from redpacket.packets.ledger_ports import Ledger


@dataclass(eq=False)
class LedgerContainer(Container):
    """Accounts and deposits."""

    operations: OperationsContainer

    @cached_property
    def repository(self) -> Ledger:
        from redpacket.packets.dynamodb.ledger import DynamoLedger

        return DynamoLedger(
            self.dynamo,
            self.settings.accounts_table,
            self.settings.packets_table,
            self.settings.shares_table,
        )

    @cached_property
    def deposits(self) -> Deposits:
        from redpacket.ledger.dynamodb.deposits import DynamoDeposits

        return DynamoDeposits(
            self.dynamo,
            self.settings.accounts_table,
            self.settings.profiles_table,
            self.settings.journal_table,
            self.settings.approvals_table,
        )

    def balance_fen(self, user_id: str) -> int:
        from redpacket.ledger.model import user_account

        return self.repository.balance_fen(user_account(user_id))

    @cached_property
    def deposit(self) -> partial[tuple[str, int]]:
        from redpacket.ledger.use_cases.deposit import deposit

        return partial(
            deposit,
            amount_fen_max=self.settings.deposit_fen_max,
            deposits=self.deposits,
            ledger=self.repository,
            four_eyes=self.operations.four_eyes,
            clock=self.clock,
        )
