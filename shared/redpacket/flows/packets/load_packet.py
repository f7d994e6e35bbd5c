"""Bring a packet into the cache: after send, when the cache has lost it, and from the sweep."""

from __future__ import annotations

from collections.abc import Callable

from redpacket.domain.errors import PacketNotFound, Rejected, Unavailable
from redpacket.domain.packet import Packet, part_count, part_size
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

Together longer than the life of a load, so that its death costs nobody a 503.
"""


class LoadWaits:
    """One caller's patience with a load that another caller does."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._left_ms = list(WAITS_MS)

    def wait(self) -> None:
        """Wait, longer each time. Raises Unavailable once it has lasted too long."""
        if not self._left_ms:
            msg = "the packet is being loaded"
            raise Unavailable(msg)
        self._clock.sleep_ms(self._left_ms.pop(0))


def load_packet(
    packet_id: str, part: int | None = None, *, packets: Packets, claim_cache: ClaimCache
) -> None:
    """Load what the ledger knows of a part, or of all of them. Raises PacketNotFound."""
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
        msg = "no such packet"
        raise PacketNotFound(msg)
    return packet
