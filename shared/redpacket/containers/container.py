"""Base of the containers: short names for the parts of the platform that most of them need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from redpacket.containers.platform import Platform
    from redpacket.platform.dynamodb.client import Dynamo
    from redpacket.platform.runtime import Clock, EventLogger
    from redpacket.platform.settings import Settings


@dataclass(eq=False)
class Container:
    platform: Platform

    @property
    def settings(self) -> Settings:
        return self.platform.settings

    @property
    def dynamo(self) -> Dynamo:
        return self.platform.dynamo

    @property
    def clock(self) -> Clock:
        return self.platform.clock

    @property
    def logger(self) -> EventLogger:
        return self.platform.logger
