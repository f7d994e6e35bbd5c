"""Objects that are built on first use, so that a request which does not need them imports less."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

Built = TypeVar("Built")


class _Deferred:
    def __init__(self, build: Callable[[], object]) -> None:
        self._build = build

    def __getattr__(self, name: str) -> object:
        value: object = getattr(self._build(), name)
        vars(self)[name] = value
        return value


def deferred(build: Callable[[], Built]) -> Built:
    """Return a stand-in for what *build* returns each time, such as a cached property.

    *build* runs when a method is first read. Read only methods, because each value is cached.
    """
    return cast("Built", _Deferred(build))
