"""Base of the containers, with short names of the platform's parts, and kinds of their members."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar, cast

if TYPE_CHECKING:
    from redpacket.containers.platform import Platform
    from redpacket.platform.dynamodb.client import Dynamo
    from redpacket.platform.runtime import Clock, EventLogger
    from redpacket.platform.settings import Settings

Repository = TypeVar("Repository")
Built = TypeVar("Built")


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
    """Return the member of a container that is *made_of* DynamoDB's client alone."""

    def make(container: Container) -> Repository:
        return made_of(container.dynamo)

    make.__annotations__["return"] = made_of
    return cached_property(make)


class _Deferred:
    def __init__(self, build: Callable[[], object]) -> None:
        self._build = build

    def __getattr__(self, name: str) -> object:
        value: object = getattr(self._build(), name)
        vars(self)[name] = value
        return value


def deferred(build: Callable[[], Built]) -> Built:
    """Return a stand-in for what *build* returns each time, such as a cached property.

    *build* runs when a method is first read, so a request that needs none imports less. Read only
    methods, because each value is cached.
    """
    return cast("Built", _Deferred(build))
