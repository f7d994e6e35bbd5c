"""The claim board on Redis or Valkey: one hash per packet, one script per move."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import redis
from redis.backoff import ExponentialWithJitterBackoff
from redis.exceptions import RedisClusterException
from redis.retry import Retry

from redpacket.adapters import keys
from redpacket.adapters.scripts import read_script
from redpacket.domain.claim import Fate, GrabOutcome, GrabStatus, ShareFate
from redpacket.domain.errors import Unavailable
from redpacket.domain.packet import Packet, PacketStatus

if TYPE_CHECKING:
    from redpacket.adapters.redis_cluster import ClusterClient

# The fields of a packet's hash that are no users (lua/lib/state.lua).
_STATE, _TERMS = "#", "="
_REFUSED_BY_LETTER = {"E": GrabStatus.PACKET_EMPTIED, "C": GrabStatus.PACKET_EXPIRED}

_KEEP_AFTER_EXPIRY_MS = 24 * 3600 * 1000
"""Latecomers of a day are answered without the ledger; then the key goes, and a load brings it."""

_PAIRS_PER_LOAD = 1_000
"""ElastiCache Serverless takes 3,999 arguments a script."""


def connect(
    host: str, port: int, *, has_tls: bool, username: str, password: str, timeout_s: float
) -> redis.Redis:
    """Return a client that has not connected yet.

    Every script may be repeated (the same user gets the same share), so a timeout is retried too,
    but only once: the user's own retry is as good.
    """
    options = connection_options(
        has_tls=has_tls, username=username, password=password, timeout_s=timeout_s
    )
    return redis.Redis(host=host, port=port, retry=retry_once(), **options)


def connection_options(
    *, has_tls: bool, username: str, password: str, timeout_s: float
) -> dict[str, Any]:
    """Return what a connection to a server is made with, in redis-py's words."""
    return {
        "ssl": has_tls,
        "username": username or None,
        "password": password or None,
        "protocol": 2,  # one round trip less at connect than RESP3, and nothing of it is used
        "decode_responses": True,
        "socket_timeout": timeout_s,
        "socket_connect_timeout": timeout_s,
        "socket_keepalive": True,
    }


def retry_once() -> Retry:
    """Return the retry policy; redis-py's own repeats a command ten times."""
    return Retry(ExponentialWithJitterBackoff(base=0.02, cap=0.1), retries=1)


@dataclass(frozen=True, slots=True)
class _Script:
    """A script's source, and the name by which a server that has run it knows it."""

    source: str
    sha: str

    @classmethod
    def read(cls, name: str) -> _Script:
        source = read_script(name)
        return cls(source, hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest())


class RedisClaims:
    """Implements ClaimBoard."""

    def __init__(self, client: redis.Redis | ClusterClient) -> None:
        self._client = client
        self._grab = _Script.read("packet_grab")
        self._load = _Script.read("packet_load")
        self._amend = _Script.read("packet_amend")
        self._close = _Script.read("packet_close")

    def grab(self, packet_id: str, user_id: str) -> GrabOutcome:
        key = keys.board(packet_id)
        with self._translated():
            # The crowd loses, and one native read is cheaper than any script: ADR 0002.
            owned_no, state, terms = self._client.hmget(key, [user_id, _STATE, _TERMS])
            if owned_no:
                return GrabOutcome(GrabStatus.ALREADY_CLAIMED, int(owned_no), str(terms or ""))
            if not state:
                return GrabOutcome(GrabStatus.PACKET_NOT_LOADED)
            if refused := _REFUSED_BY_LETTER.get(str(state)[0]):
                return GrabOutcome(refused)
            status, _, share_no = self._run(self._grab, key, user_id).partition(" ")
        if not share_no:
            return GrabOutcome(GrabStatus(status))
        return GrabOutcome(GrabStatus(status), int(share_no), str(terms))

    def load(self, packet: Packet, shares: Sequence[ShareFate]) -> None:
        key = keys.board(packet.packet_id)
        terms = packet.terms
        keep_until_ms = packet.expires_at_ms + _KEEP_AFTER_EXPIRY_MS
        window_and_count = f"{packet.starts_at_ms:013d}{packet.expires_at_ms:013d}{terms.count:07d}"
        numbers = {share.share_no for share in shares}
        durable_no = max(numbers, default=0)
        free = ",".join(str(no) for no in range(1, durable_no) if no not in numbers)
        # Refunded shares have nobody to remember them for.
        pairs: list[tuple[str, int]] = [
            (share.taker.user_id, share.share_no) for share in shares if share.taker
        ]
        last_start = max(0, (len(pairs) - 1) // _PAIRS_PER_LOAD * _PAIRS_PER_LOAD)
        with self._translated():
            for start in range(0, last_start + 1, _PAIRS_PER_LOAD):
                letter = _letter(packet, shares) if start == last_start else ""
                args: list[str | int] = [keep_until_ms, letter, window_and_count, str(terms)]
                args += [durable_no, free]
                for user_id, share_no in pairs[start : start + _PAIRS_PER_LOAD]:
                    args += [user_id, share_no]
                self._run(self._load, key, *args)

    def disown(self, packet_id: str, user_id: str, share_no: int) -> None:
        with self._translated():
            self._run(self._amend, keys.board(packet_id), user_id, share_no, "")

    def give_back(self, packet_id: str, user_id: str, share_no: int, *, owned_no: int) -> None:
        with self._translated():
            self._run(self._amend, keys.board(packet_id), user_id, share_no, owned_no)

    def close(self, packet_id: str) -> None:
        with self._translated():
            self._run(self._close, keys.board(packet_id))

    def holders(self, packet_id: str) -> dict[str, int]:
        with self._translated():
            fields = self._client.hscan_iter(keys.board(packet_id), count=1_000)
            return {user: int(no) for user, no in fields if user not in {_STATE, _TERMS}}

    def _run(self, script: _Script, key: str, *args: str | int) -> str:
        try:
            answer = self._client.evalsha(script.sha, 1, key, *args)
        except redis.exceptions.NoScriptError:
            # Not SCRIPT LOAD: a cluster's client sends that to all nodes, and one may be away.
            answer = self._client.eval(script.source, 1, key, *args)
        return str(answer)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except redis.ReadOnlyError as error:
            # A primary that became a replica keeps its connections: find the new one.
            self._client.connection_pool.disconnect()
            raise Unavailable("the cache fails over") from error
        # redis-py's errors about a cluster as a whole are no RedisError.
        except (redis.RedisError, RedisClusterException) as error:
            raise Unavailable("the cache does not answer") from error


def _letter(packet: Packet, shares: Sequence[ShareFate]) -> str:
    # The script itself sees that all is handed out; to latecomers that is "emptied", not "expired".
    claimed_count = sum(share.fate is Fate.CLAIMED for share in shares)
    is_open = packet.status is PacketStatus.OPEN or claimed_count == packet.terms.count
    return "O" if is_open else "C"
