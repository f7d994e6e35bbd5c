"""Loading of packets that the cache lacks. One caller loads while others wait."""

from __future__ import annotations

from dataclasses import dataclass

from redpacket.packets.errors import PacketExpired, PacketNotFound, PacketNotStarted
from redpacket.packets.model.packet import Packet, PacketStatus, shard_size
from redpacket.packets.use_cases.claim_ports import ClaimPorts
from redpacket.platform.bounds import LOAD_WAITS_MS
from redpacket.platform.errors import Rejected, Unavailable

_LARGE = 1_000

_LOAD_LIFE_MS = 300
"""Milliseconds until another caller may load; loading a small packet takes 10 ms."""

_LARGE_LOAD_LIFE_MS = 3_000
"""Milliseconds until another caller may load a large shard; 20,000 shares take one second."""

_TRIES = 4
"""Maximum loads per caller. Each load repairs the cache for this user, so a second one is rare."""


@dataclass(frozen=True, slots=True)
class ShardToLoad:
    """Shard to load: the cache lacks the shard or, if *is_behind*, claims that the ledger has."""

    shard: int
    is_behind: bool


class CacheLoads:
    """Loads of a packet that one caller performs or waits for."""

    def __init__(self, packet_id: str, user_id: str, ports: ClaimPorts) -> None:
        self._packet_id = packet_id
        self._user_id = user_id
        self._ports = ports
        self._left_ms = list(LOAD_WAITS_MS)
        self._left_count = _TRIES

    def load(self, wanted: ShardToLoad) -> None:
        """Load a shard, or wait for another caller's load. Raises PacketNotFound, Unavailable."""
        if wanted.is_behind:
            self._reload(wanted.shard)
        elif not self._load_missing(wanted.shard):
            if not self._left_ms:
                raise Unavailable("the packet is being loaded")
            self._ports.clock.sleep_ms(self._left_ms.pop(0))
            return
        self._left_count -= 1
        if not self._left_count:
            raise Unavailable("the cache is being repaired")

    def _load_missing(self, shard: int) -> bool:
        """Load a missing shard; return False while another caller loads it."""
        if not self._ports.turns.begin_load(self._packet_id, shard, _LOAD_LIFE_MS):
            return False
        try:
            if not self._ports.claim_cache.is_loaded(self._packet_id, shard):
                self._ports.costs.count(self._user_id)
                self._load(shard)
        except Rejected:
            self._end_turn(shard)
            raise
        # After Unavailable, keep the turn. Otherwise all waiting callers would fail in sequence.
        self._end_turn(shard)
        return True

    def _reload(self, shard: int) -> None:
        """Reload a shard that is behind the ledger, after any load that is in progress."""
        for wait_ms in (*LOAD_WAITS_MS, 0):
            if self._ports.turns.begin_load(self._packet_id, shard, _LOAD_LIFE_MS):
                self._load(shard)
                self._end_turn(shard)
                return
            self._ports.clock.sleep_ms(wait_ms)

    def _load(self, shard: int) -> None:
        packet = _get(self._packet_id, self._ports)
        if shard_size(packet, shard) > _LARGE:
            self._ports.turns.hold_load(self._packet_id, shard, _LARGE_LOAD_LIFE_MS)
        shares = self._ports.packets.list_shard_shares(self._packet_id, shard)
        self._ports.claim_cache.load(packet, shares, shard)

    def _end_turn(self, shard: int) -> None:
        self._ports.turns.hold_load(self._packet_id, shard, 0)


def _get(packet_id: str, ports: ClaimPorts) -> Packet:
    packet = ports.packets.find_packet(packet_id)
    if packet is None or packet.rules.prize_id:
        raise PacketNotFound
    # The cache must not grant shares of an unpaid packet.
    if packet.status is PacketStatus.UNPAID:
        raise PacketNotStarted("The packet is not paid for yet.")
    if packet.status is PacketStatus.CANCELLED:
        raise PacketExpired("The packet was canceled because it was not paid for in time.")
    return packet
