"""Container for profiles, host ids and notices."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from redpacket.containers.container import Container
from redpacket.platform.user import UserIds
from redpacket.users.dynamodb.profiles import DynamoHostIds, DynamoProfiles

if TYPE_CHECKING:
    from redpacket.users.dynamodb.notices import DynamoNotices
    from redpacket.users.use_cases.cached_profiles import CachedProfiles


@dataclass(eq=False)
class UsersContainer(Container):
    @cached_property
    def profiles(self) -> DynamoProfiles:
        return DynamoProfiles(self.dynamo, self.user_ids.id_of)

    @cached_property
    def user_ids(self) -> UserIds:
        return UserIds(self.settings.user_id_key)

    @cached_property
    def shown_profiles(self) -> CachedProfiles:
        """Profile cache in this process, for pages with many viewers."""
        from redpacket.users.use_cases.cached_profiles import CachedProfiles

        return CachedProfiles(self.profiles, clock=self.clock)

    @cached_property
    def host_ids(self) -> DynamoHostIds:
        return DynamoHostIds(self.dynamo, self.user_ids.id_of)

    @cached_property
    def notices(self) -> DynamoNotices:
        from redpacket.users.dynamodb.notices import DynamoNotices

        return DynamoNotices(self.dynamo)
