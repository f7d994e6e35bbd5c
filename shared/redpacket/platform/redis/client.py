"""Cache commands over redis-py's connections, without redis-py's client (ADR 0002)."""

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

from redpacket.platform.time_budget import OutOfTime, time_budget

Word: TypeAlias = str | int
ConnectTo: TypeAlias = Callable[[str, int], Connection]

FAILURES = (NoConnection, NoAnswer, ReadOnlyError)
"""Errors that a new connection may fix. A demoted primary keeps connections but rejects writes."""

_PAUSE_S = 0.02
"""Maximum random wait in seconds, so that clients do not all reconnect at once."""

_TIMEOUTS_MAX = 2
"""Consecutive timeouts after which a server is paused."""

_REST_S = 1.0
"""Seconds for which a paused server receives no commands.

Otherwise, a request with five commands would wait for ten timeouts.
"""

_ASKING = pack_command(("ASKING",))


class Client(Protocol):
    """Cache client for one or many servers."""

    def ask(self, *words: Word) -> Any:  # noqa: ANN401 - each command has its own answer
        """Return a command's answer. The command may run twice, so it must be idempotent."""

    def close(self) -> None:
        """Drop all connections; the next command opens a new one."""


class Connections:
    """Connections to one server, each used by one thread at a time."""

    __slots__ = ("_idle", "_make", "_rests_until_s", "_timeouts")

    def __init__(self, make: Callable[[], Connection]) -> None:
        self._make = make
        self._idle: list[Connection] = []
        self._timeouts = 0
        self._rests_until_s = 0.0

    def ask(self, words: tuple[Word, ...], *, is_asking: bool = False) -> Any:  # noqa: ANN401
        """Send a command once. Set *is_asking* for a slot that is moving to this server.

        While the server is paused or the request has no time left, raise NoAnswer without sending.
        """
        if self._timeouts >= _TIMEOUTS_MAX and time.monotonic() < self._rests_until_s:
            raise NoAnswer("the server timed out a moment ago")
        _require_time()
        try:
            answer = self._ask(words, is_asking=is_asking)
        except NoAnswer:
            self._timeouts += 1
            self._rests_until_s = time.monotonic() + _REST_S
            raise
        self._timeouts = 0
        return answer

    def _ask(self, words: tuple[Word, ...], *, is_asking: bool) -> Any:  # noqa: ANN401
        # If `forget` runs meanwhile, the connection returns to this abandoned list.
        idle = self._idle
        try:
            connection = idle.pop()
        except IndexError:
            connection = self._make()
        packed = [pack_command(words)]  # type: ignore[arg-type]  # declared for one word only
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
            # A late answer must not be read as the answer to another command.
            connection.disconnect()  # type: ignore[no-untyped-call]
            raise
        idle.append(connection)
        return answer

    def forget(self) -> None:
        """Drop all idle connections, because one connection's failure usually affects all."""
        self._idle = []


class ServerClient:
    """Client for one address, which may resolve to another server later."""

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


def _require_time() -> None:
    try:
        time_budget.require()
    except OutOfTime as error:
        raise NoAnswer(str(error)) from error


def pause() -> None:
    """Wait for a random time before another attempt."""
    time.sleep(random.uniform(0, _PAUSE_S))  # noqa: S311 - no secret
