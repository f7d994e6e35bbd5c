"""Erasure of users."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial

from redpacket.containers.container import Container
from redpacket.containers.packets import PacketsContainer
from redpacket.containers.users import UsersContainer
from redpacket.erasure.dynamodb.erasure import DynamoErasure
from redpacket.erasure.dynamodb.holdings import DynamoHoldings
from redpacket.erasure.erase_user import erase_user


@dataclass(eq=False)
class ErasureContainer(Container):
    """Erasure of users."""

    users: UsersContainer
    packets: PacketsContainer

    @cached_property
    def erase_user(self) -> partial[None]:
        """Erasure of users who have no money and no pending business."""
        return partial(
            erase_user,
            holdings=DynamoHoldings(self.dynamo, self.platform.in_parallel),
            erasure=DynamoErasure(self.dynamo, self.platform.in_parallel),
            profiles=self.users.profiles,
            pictures=self.packets.pictures,
            clock=self.clock,
        )
