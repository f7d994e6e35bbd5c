"""Base class of containers, with short names for the platform's parts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from redpacket.containers.platform import Platform
    from redpacket.platform.dynamodb.client import Dynamo
    from redpacket.platform.runtime import Clock, EventLogger
    from redpacket.platform.settings import Settings

Repository = TypeVar("Repository")


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


def on_dynamo(made_of: Callable[[Dynamo], Repository]) -> cached_property[Repository]:
    """Return a cached member that *made_of* builds from the DynamoDB client alone."""

    def make(container: Container) -> Repository:
        return made_of(container.dynamo)

    make.__annotations__["return"] = made_of
    return cached_property(make)
