"""Base for all cache adapters: connections, scripts, and errors."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, NotRequired, TypedDict

from redis.connection import Connection
from redis.exceptions import ConnectionError as NoConnection
from redis.exceptions import (
    NoPermissionError,
    NoScriptError,
    ReadOnlyError,
    RedisError,
    ResponseError,
)
from redis.exceptions import TimeoutError as NoAnswer

from redpacket.platform.errors import CacheAltered, CacheAway, InvariantViolated, Unavailable
from redpacket.platform.redis.client import Client, ConnectTo, ServerClient, Word

if TYPE_CHECKING:
    from typing import Unpack


LUA_FOLDER = Path(__file__).parents[2] / "lua"

_INCLUDE = re.compile(r"^-- @include (\S+)$", re.MULTILINE)
_HEADER = re.compile(r"--\[\[.*?\]\]\n", re.DOTALL)
_COMMENT = re.compile(r"^\s*--.*\n", re.MULTILINE)

TURN_MS_MAX = 600_000
"""Maximum milliseconds for which a function holds a lock."""

_NO_END = -1
"""PTTL's answer for a key that does not expire."""

_VERSION_MIN = 7
"""First major Redis version that runs scripts starting with `#!lua`."""


class Options(TypedDict):
    """Connection options; *ca_bundle* replaces the trusted roots."""

    has_tls: bool
    username: str
    password: str | Callable[[], str]
    """Password, or a callable that returns the current password for each new connection."""
    timeout_s: float
    ca_bundle: NotRequired[str]


def connect(host: str, port: int, **options: Unpack[Options]) -> ServerClient:
    """Return a client that connects at its first command."""
    return ServerClient(partial(connection_maker(**options), host, port))


def connection_maker(**options: Unpack[Options]) -> ConnectTo:
    """Return a factory of connections with these options."""
    timeout_s = options["timeout_s"]
    told: dict[str, Any] = {
        "redis_connect_func": partial(
            _greet, username=options["username"], password=options["password"]
        ),
        "protocol": 2,  # no command needs RESP3
        "driver_info": None,  # saves two round trips that would report the library
        "decode_responses": True,
        "socket_timeout": timeout_s,
        "socket_connect_timeout": timeout_s,
        "socket_keepalive": True,
    }
    if options["has_tls"]:
        from redpacket.platform.redis.tls_connection import TlsConnection

        return partial(TlsConnection, ca_bundle=options.get("ca_bundle", ""), **told)
    return partial(Connection, **told)


def _greet(connection: Connection, username: str, password: str | Callable[[], str]) -> None:
    """Sign in and check the server's version in one round trip, with HELLO."""
    connection._parser.on_connect(connection)  # noqa: SLF001 - redis-py's first step
    secret = password if isinstance(password, str) else password()
    sign_in = ("AUTH", username or "default", secret) if secret else ()
    connection.send_command("HELLO", 2, *sign_in, check_health=False)  # type: ignore[no-untyped-call]
    try:
        told = connection.read_response()
    except ResponseError as error:
        if "unknown command" not in str(error):
            raise
        told = ["version", "5"]
    version = str(dict(zip(told[::2], told[1::2], strict=True))["version"])
    if int(version.partition(".")[0]) < _VERSION_MIN:
        raise InvariantViolated(
            f"the cache is version {version}; it must be Redis {_VERSION_MIN}.0, Valkey or newer"
        )


def read_script(name: str) -> str:
    """Return a script with its includes expanded and its comments removed."""
    source = (LUA_FOLDER / f"{name}.lua").read_text()
    shebang, _, body = source.partition("\n")
    body = _INCLUDE.sub(lambda match: (LUA_FOLDER / f"{match[1]}.lua").read_text(), body)
    return f"{shebang}\n" + _COMMENT.sub("", _HEADER.sub("", body))


@dataclass(frozen=True, slots=True)
class Script:
    """Script source, with the hash under which servers cache the script."""

    source: str
    sha: str

    @classmethod
    def read(cls, name: str) -> Script:
        source = read_script(name)
        return cls(source, hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest())


@dataclass(frozen=True, slots=True)
class SignedTexts:
    """Cached texts with an expiry and a MAC, so that cache access alone cannot forge a text.

    The format is `<until_ms>|<text>|<MAC>`; the MAC also covers the key's name.
    """

    sign: Callable[[str], str]
    has_signed: Callable[[str, str], bool]
    now_ms: Callable[[], int]

    def write(self, key: str, text: str, for_ms: int) -> str:
        """Return the signed value to store for *text*, valid for *for_ms*."""
        value = f"{self.now_ms() + for_ms}|{text}"
        return f"{value}|{self.sign(f'{key}|{value}')}"

    def read(self, key: str, value: object) -> str | None:
        """Return the value's text, or None if the value is expired, altered or missing."""
        signed, _, mac = str(value or "").rpartition("|")
        if not self.has_signed(f"{key}|{signed}", mac):
            return None
        until_ms, _, text = signed.partition("|")
        return text if self.now_ms() < int(until_ms) else None


class Cache:
    """Base class of cache adapters."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def ask(self, *words: Word) -> Any:  # noqa: ANN401 - each command has its own answer
        """Return the answer to a command. Raises Unavailable."""
        try:
            return self._client.ask(*words)
        except RedisError as error:
            self._raise_ours(error, words[1:2])

    def run(self, script: Script, key: str | Sequence[str], *args: Word) -> str:
        """Run a script with one or more keys. Raises Unavailable."""
        keys = (key,) if isinstance(key, str) else key
        words = (len(keys), *keys, *args)
        try:
            try:
                return str(self._client.ask("EVALSHA", script.sha, *words))
            except NoScriptError:
                # SCRIPT LOAD has no key that would route it to the server that lacks the script.
                return str(self._client.ask("EVAL", script.source, *words))
        except RedisError as error:
            self._raise_ours(error, keys)

    def take_turn(self, key: str, token: Word, life_ms: int) -> bool:
        """Acquire a lock if it is free or lives longer than TURN_MS_MAX. Raises Unavailable."""
        if self.ask("SET", key, token, "NX", "PX", life_ms):
            return True
        left_ms = int(self.ask("PTTL", key))
        # Ignore a lock that lives too long: it is forged. Two concurrent loads are harmless.
        is_foreign = left_ms == _NO_END or left_ms > TURN_MS_MAX
        return is_foreign and bool(self.ask("SET", key, token, "PX", life_ms))

    def remove(self, *keys: Word) -> None:
        """Remove keys by PEXPIRE, because no cache user may call DEL. Raises Unavailable."""
        for key in keys:
            self.ask("PEXPIRE", key, 0)

    def _raise_ours(self, error: RedisError, keys: Sequence[Word]) -> NoReturn:
        if isinstance(error, NoPermissionError):
            # A missing permission is a deployment error: return 500 and trigger the alarm.
            raise error
        if isinstance(error, ReadOnlyError):
            raise Unavailable("the cache is failing over") from error
        if isinstance(error, (NoConnection, NoAnswer)):
            raise CacheAway("the cache does not answer") from error
        if str(error).startswith("WRONGTYPE"):
            # A script may have stopped halfway, so none of its keys is trusted.
            self.remove(*keys)
            raise CacheAltered("the cache had a key of another type") from error
        raise Unavailable("the cache refuses this key for now") from error
