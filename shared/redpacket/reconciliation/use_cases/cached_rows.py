"""Bounded cache of the packets and lotteries that a reconciliation has read."""

from __future__ import annotations

from collections.abc import Iterable

from redpacket.lottery.model.lottery import CampaignSnapshot
from redpacket.lottery.ports import DrawRepository
from redpacket.packets.model.packet import Packet
from redpacket.packets.ports import PacketRepository
from redpacket.platform.process_cache import ProcessCache, no_clock

_PACKETS_MAX = 10_000
"""About as many as one page of a table has rows; 20 MB."""

_LOTTERIES_MAX = 50
_PACKETS_AT_ONCE = 100


class CachedRows:
    """Rows read strongly since the run began; an empty tuple means that no row was found."""

    def __init__(self, packets: PacketRepository, draws: DrawRepository) -> None:
        self._packets = packets
        self._draws = draws
        self._known: ProcessCache[str, tuple[Packet, ...]] = ProcessCache(
            no_clock, size_max=_PACKETS_MAX
        )
        self._lotteries: ProcessCache[str, tuple[CampaignSnapshot, ...]] = ProcessCache(
            no_clock, size_max=_LOTTERIES_MAX
        )

    def fetch(self, packet_ids: Iterable[str], *, is_fresh: bool = False) -> None:
        """Read the packets that are not cached, or all of them if *is_fresh*."""
        missing: list[str] = []
        for packet_id in dict.fromkeys(packet_ids):
            known = None if is_fresh else self._known.find(packet_id)
            if known is None:
                missing.append(packet_id)
            else:
                self._known.keep(packet_id, known)
        for start in range(0, len(missing), _PACKETS_AT_ONCE):
            chunk = missing[start : start + _PACKETS_AT_ONCE]
            found = {packet.packet_id: packet for packet in self._packets.list_packets(chunk)}
            for packet_id in chunk:
                self._known.keep(packet_id, (found[packet_id],) if packet_id in found else ())

    def packet(self, packet_id: str) -> Packet | None:
        """Return a packet, possibly from the cache."""
        known = self._known.find(packet_id)
        if known is None:
            return self.fresh_packet(packet_id)
        return known[0] if known else None

    def fresh_packet(self, packet_id: str) -> Packet | None:
        """Read a packet again."""
        self.fetch([packet_id], is_fresh=True)
        known = self._known.find(packet_id)
        return known[0] if known else None

    def lottery(self, campaign_id: str) -> CampaignSnapshot | None:
        """Return a campaign with its prizes, possibly from the cache."""
        known = self._lotteries.find(campaign_id)
        if known is None:
            return self.fresh_lottery(campaign_id)
        return known[0] if known else None

    def fresh_lottery(self, campaign_id: str) -> CampaignSnapshot | None:
        """Read a campaign with its prizes again."""
        lottery = self._draws.find_table(campaign_id)
        self._lotteries.keep(campaign_id, (lottery,) if lottery else ())
        return lottery
