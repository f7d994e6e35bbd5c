"""Bring a packet into the cache: after send, when the cache has lost it, and from the sweep."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from redpacket.domain.errors import (
    PacketExpired,
    PacketNotFound,
    PacketNotStarted,
    Rejected,
    Unavailable,
)
from redpacket.domain.packet import Packet, PacketStatus, part_count, part_size
from redpacket.flows.packets.claim_ports import ClaimPorts
from redpacket.ports.packets import ClaimCache, Packets
from redpacket.ports.runtime import Clock

_LARGE = 1_000
"""Shares of a part that take more than a page or two to read."""

_LOAD_LIFE_MS = 300
"""A caller that loads has so much time until another may try: a small packet takes 10 ms."""

_LARGE_LOAD_LIFE_MS = 3_000
"""20,000 fates take a second."""

WAITS_MS = (5, 10, 20, 40, 80, 160)
"""How long callers wait for the one that loads, each time before they look again.

Together longer than the life of a load, so that a load that dies causes no 503.
"""


_TRIES = 4
"""Each load leaves the cache right for this user, so a second try is rare and a fourth unseen."""


@dataclass(frozen=True, slots=True)
class PartToLoad:
    """A part that the cache lacks, or in which it *is_behind* the ledger."""

    part: int
    is_behind: bool


class CacheLoads:
    """The loads that one caller does or waits for, until it gives up."""

    def __init__(self, user_id: str, ports: ClaimPorts) -> None:
        self._user_id = user_id
        self._ports = ports
        self._left_ms = list(WAITS_MS)
        self._left_count = _TRIES

    def load(self, packet_id: str, wanted: PartToLoad) -> None:
        """Load a part, or wait while another caller does. Raises PacketNotFound, Unavailable."""
        packets, cache, clock = self._ports.packets, self._ports.claim_cache, self._ports.clock
        if wanted.is_behind:
            reload_among_many(
                packet_id, wanted.part, packets=packets, claim_cache=cache, clock=clock
            )
        elif not load_among_many(
            packet_id,
            wanted.part,
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
        """Wait, longer each time. Raises Unavailable once it has lasted too long."""
        if not self._left_ms:
            raise Unavailable("the packet is being loaded")
        self._ports.clock.sleep_ms(self._left_ms.pop(0))


def load_packet(
    packet_id: str, part: int | None = None, *, packets: Packets, claim_cache: ClaimCache
) -> None:
    """Load a part, or all parts, from the ledger. Raises PacketNotFound."""
    packet = _get(packet_id, packets)
    for number in range(part_count(packet_id)) if part is None else (part,):
        claim_cache.load(packet, packets.list_part_shares(packet_id, number), number)


def load_among_many(
    packet_id: str,
    part: int,
    *,
    packets: Packets,
    claim_cache: ClaimCache,
    before_read: Callable[[], None] = lambda: None,
) -> bool:
    """Load a part as one of a crowd that has found it missing; False where another caller does.

    *before_read* may refuse this caller. Raises PacketNotFound.
    """
    if not claim_cache.begin_load(packet_id, part, _LOAD_LIFE_MS):
        return False
    try:
        # Between this caller's look and its turn another one may have loaded it.
        if not claim_cache.is_loaded(packet_id, part):
            before_read()
            _load(packet_id, part, packets, claim_cache)
    except Rejected:
        claim_cache.hold_load(packet_id, part, 0)
        raise
    # Not after an Unavailable: then the rest of the crowd would try, one after the other.
    claim_cache.hold_load(packet_id, part, 0)
    return True


def reload_among_many(
    packet_id: str, part: int, *, packets: Packets, claim_cache: ClaimCache, clock: Clock
) -> None:
    """Load a part that turned out to be behind the ledger, after those who load it already.

    Their loads may have begun too early, or died: without one the cache would go on to miss owners.
    Only a large load is not waited for until its end.
    """
    for wait_ms in (*WAITS_MS, 0):
        if claim_cache.begin_load(packet_id, part, _LOAD_LIFE_MS):
            _load(packet_id, part, packets, claim_cache)
            claim_cache.hold_load(packet_id, part, 0)
            return
        clock.sleep_ms(wait_ms)


def _load(packet_id: str, part: int, packets: Packets, claim_cache: ClaimCache) -> None:
    packet = _get(packet_id, packets)
    if part_size(packet, part) > _LARGE:
        claim_cache.hold_load(packet_id, part, _LARGE_LOAD_LIFE_MS)
    claim_cache.load(packet, packets.list_part_shares(packet_id, part), part)


def _get(packet_id: str, packets: Packets) -> Packet:
    packet = packets.find_packet(packet_id)
    # The shares of a prize's packet are won by draws: to everybody else it is not there.
    if packet is None or packet.rules.prize_id:
        raise PacketNotFound("no such packet")
    # The cache must not hand out what is not paid for.
    if packet.status is PacketStatus.UNPAID:
        raise PacketNotStarted("the packet is not paid for yet")
    if packet.status is PacketStatus.CANCELLED:
        raise PacketExpired("the packet was not paid for in time")
    return packet
