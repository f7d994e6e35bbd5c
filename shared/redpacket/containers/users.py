"""Profiles and host ids."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from redpacket.containers.container import Container, on_dynamo
from redpacket.users.dynamodb.profiles import DynamoProfiles

if TYPE_CHECKING:
    from redpacket.events.ports import HostIds
    from redpacket.users.use_cases.cached_profiles import CachedProfiles


@dataclass(eq=False)
class UsersContainer(Container):
    profiles = on_dynamo(DynamoProfiles)

    @cached_property
    def shown_profiles(self) -> CachedProfiles:
        """Process-local cache of profiles for pages with many viewers."""
        from redpacket.users.use_cases.cached_profiles import CachedProfiles

        return CachedProfiles(self.profiles, clock=self.clock)

    @cached_property
    def host_ids(self) -> HostIds:
        from redpacket.users.dynamodb.profiles import DynamoHostIds

        return DynamoHostIds(self.dynamo)
