"""Erasure of users."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial

from redpacket.containers.platform import Platform
from redpacket.containers.users import UsersContainer
from redpacket.erasure.dynamodb.erasure import DynamoErasure
from redpacket.erasure.dynamodb.holdings import DynamoHoldings
from redpacket.erasure.erase_user import erase_user


@dataclass(eq=False)
class ErasureContainer:
    """Erasure of users."""

    platform: Platform
    users: UsersContainer

    @cached_property
    def erase_user(self) -> partial[None]:
        """Erasure of users who have no money and no pending business."""
        return partial(
            erase_user,
            holdings=DynamoHoldings(
                self.platform.dynamo,
                self.platform.settings.accounts_table,
                self.platform.settings.packets_table,
                self.platform.settings.shares_table,
                self.platform.settings.payments_table,
                self.platform.in_parallel,
            ),
            erasure=DynamoErasure(
                self.platform.dynamo,
                self.platform.settings.payments_table,
                self.platform.settings.audience_table,
                self.platform.settings.campaigns_table,
                self.platform.in_parallel,
            ),
            profiles=self.users.profiles,
            clock=self.platform.clock,
        )
