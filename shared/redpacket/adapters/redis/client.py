"""How a command reaches the cache: over redis-py's connections, without its client (ADR 0012)."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

from hiredis import pack_command
from redis.connection import Connection
from redis.exceptions import ConnectionError as NoConnection
from redis.exceptions import ReadOnlyError, ResponseError
from redis.exceptions import TimeoutError as NoAnswer

Word: TypeAlias = str | int
ConnectTo: TypeAlias = Callable[[str, int], Connection]
"""Makes a connection to a host and port, which connects when it is used."""

FAILURES = (NoConnection, NoAnswer, ReadOnlyError)
"""Errors that a new connection may fix. A demoted primary keeps its connections."""

_PAUSE_S = 0.02
"""At the most, before the second try: a crowd that lost its server must not come back as one."""

_ASKING = pack_command(("ASKING",))


class Client(Protocol):
    """A cache of one server or of many."""

    def ask(self, *words: Word) -> Any:  # noqa: ANN401 - each command has its own answer
        """Return the answer to a command, which has one key at least; raises redis-py's errors.

        The command may arrive twice: where an answer is lost, it is sent once more. All commands of
        the adapters allow for that.
        """

    def close(self) -> None:
        """End all connections; the next command makes a new one."""


class Connections:
    """The connections to one server, each of them lent to one thread at a time."""

    __slots__ = ("_idle", "_make")

    def __init__(self, make: Callable[[], Connection]) -> None:
        self._make = make
        self._idle: list[Connection] = []

    def ask(self, words: tuple[Word, ...], *, is_asking: bool = False) -> Any:  # noqa: ANN401
        """Send a command once; *is_asking* for a slot that is on its way to this server."""
        # A connection returned after `forget` goes to a list that is no longer read.
        idle = self._idle
        try:
            connection = idle.pop()
        except IndexError:
            connection = self._make()
        packed = [pack_command(words)]  # type: ignore[arg-type]  # of more words than one
        if is_asking:
            packed.insert(0, _ASKING)
        try:
            connection.send_packed_command(packed, check_health=False)  # type: ignore[no-untyped-call]
            if is_asking:
                connection.read_response()
            answer = connection.read_response()
        except ResponseError:
            idle.append(connection)
            raise
        except BaseException:
            # An answer may still be on its way: it must not be taken for that of another command.
            connection.disconnect()  # type: ignore[no-untyped-call]
            raise
        idle.append(connection)
        return answer

    def forget(self) -> None:
        """Use none of these connections again: what broke one has most often broken all."""
        self._idle = []


class ServerClient:
    """Implements Client for one server, at an address that may lead to another one tomorrow."""

    def __init__(self, make: Callable[[], Connection]) -> None:
        self._connections = Connections(make)

    def ask(self, *words: Word) -> Any:  # noqa: ANN401
        try:
            return self._connections.ask(words)
        except FAILURES:
            self.close()
        pause()
        try:
            return self._connections.ask(words)
        except FAILURES:
            self.close()
            raise

    def close(self) -> None:
        self._connections.forget()


def pause() -> None:
    """Wait for a moment before the second try."""
    time.sleep(random.uniform(0, _PAUSE_S))  # noqa: S311 - no secret
