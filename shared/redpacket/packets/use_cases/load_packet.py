"""Loader of packets into the cache: after a send, after a cache loss, and from the sweep."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from redpacket.packets.errors import PacketExpired, PacketNotFound, PacketNotStarted
from redpacket.packets.model.packet import Packet, PacketStatus, shard_count, shard_size
from redpacket.packets.ports import ClaimCache, PacketReader
from redpacket.packets.use_cases.claim_ports import ClaimPorts
from redpacket.platform.errors import Rejected, Unavailable
from redpacket.platform.runtime import Clock

_LARGE = 1_000

_LOAD_LIFE_MS = 300
"""Milliseconds until another caller may load: a small packet takes 10 ms."""

_LARGE_LOAD_LIFE_MS = 3_000
"""Milliseconds until another caller may load: 20,000 shares take one second."""

WAITS_MS = (5, 10, 20, 40, 80, 160)
"""Pauses of a waiting caller in ms; they exceed a load's life, so a dead load causes no 503."""


_TRIES = 4
"""Loads per caller. Each one repairs the cache for this user, so a second is rare."""


@dataclass(frozen=True, slots=True)
class ShardToLoad:
    """Part that the cache lacks, or in which it *is_behind* the ledger."""

    shard: int
    is_behind: bool


class CacheLoads:
    """Loads that one caller performs or waits for."""

    def __init__(self, user_id: str, ports: ClaimPorts) -> None:
        self._user_id = user_id
        self._ports = ports
        self._left_ms = list(WAITS_MS)
        self._left_count = _TRIES

    def load(self, packet_id: str, wanted: ShardToLoad) -> None:
        """Load a shard, or wait for another caller's load. Raises PacketNotFound, Unavailable."""
        packets, cache, clock = self._ports.packets, self._ports.claim_cache, self._ports.clock
        if wanted.is_behind:
            reload_among_many(
                packet_id, wanted.shard, packets=packets, claim_cache=cache, clock=clock
            )
        elif not load_among_many(
            packet_id,
            wanted.shard,
            packets=packets,
            claim_cache=cache,
            before_read=lambda: self._ports.costs.count(self._user_id),
        ):
            self._wait()
            return
        self._left_count -= 1
        if not self._left_count:
            raise Unavailable("the cache is being repaired")

    def _wait(self) -> None:
        if not self._left_ms:
            raise Unavailable("the packet is being loaded")
        self._ports.clock.sleep_ms(self._left_ms.pop(0))


def load_packet(packet_id: str, *, packets: PacketReader, claim_cache: ClaimCache) -> None:
    """Load all shards from the ledger. Raises PacketNotFound."""
    packet = _get(packet_id, packets)
    for number in range(shard_count(packet_id)):
        claim_cache.load(packet, packets.list_shard_shares(packet_id, number), number)


def load_among_many(
    packet_id: str,
    shard: int,
    *,
    packets: PacketReader,
    claim_cache: ClaimCache,
    before_read: Callable[[], None] = lambda: None,
) -> bool:
    """Load a missing shard; return False while another caller loads it. Raises PacketNotFound."""
    if not claim_cache.begin_load(packet_id, shard, _LOAD_LIFE_MS):
        return False
    try:
        if not claim_cache.is_loaded(packet_id, shard):
            before_read()
            _load(packet_id, shard, packets, claim_cache)
    except Rejected:
        claim_cache.hold_load(packet_id, shard, 0)
        raise
    # Not after Unavailable: otherwise the whole crowd would retry, one caller after the other.
    claim_cache.hold_load(packet_id, shard, 0)
    return True


def reload_among_many(
    packet_id: str, shard: int, *, packets: PacketReader, claim_cache: ClaimCache, clock: Clock
) -> None:
    """Reload a shard that is behind the ledger, after loads that may have begun too early."""
    for wait_ms in (*WAITS_MS, 0):
        if claim_cache.begin_load(packet_id, shard, _LOAD_LIFE_MS):
            _load(packet_id, shard, packets, claim_cache)
            claim_cache.hold_load(packet_id, shard, 0)
            return
        clock.sleep_ms(wait_ms)


def _load(packet_id: str, shard: int, packets: PacketReader, claim_cache: ClaimCache) -> None:
    packet = _get(packet_id, packets)
    if shard_size(packet, shard) > _LARGE:
        claim_cache.hold_load(packet_id, shard, _LARGE_LOAD_LIFE_MS)
    claim_cache.load(packet, packets.list_shard_shares(packet_id, shard), shard)


def _get(packet_id: str, packets: PacketReader) -> Packet:
    packet = packets.find_packet(packet_id)
    if packet is None or packet.rules.prize_id:
        raise PacketNotFound
    # The cache must not grant shares of an unpaid packet.
    if packet.status is PacketStatus.UNPAID:
        raise PacketNotStarted("The packet is not paid for yet.")
    if packet.status is PacketStatus.CANCELLED:
        raise PacketExpired("The packet was canceled because it was not paid for in time.")
    return packet
