"""Accounts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from redpacket.containers.container import Container

if TYPE_CHECKING:
    from redpacket.packets.ledger_ports import Ledger


@dataclass(eq=False)
class LedgerContainer(Container):
    """Accounts."""

    @cached_property
    def repository(self) -> Ledger:
        from redpacket.packets.dynamodb.ledger import DynamoLedger

        return DynamoLedger(self.dynamo)

    def balance_fen(self, user_id: str) -> int:
        from redpacket.ledger.model import user_account

        return self.repository.balance_fen(user_account(user_id))
