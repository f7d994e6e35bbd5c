"""Packets and lotteries that a reconciliation has read: some of them, so that memory is bounded."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

from redpacket.domain.lottery import LotterySnapshot
from redpacket.domain.packet import Packet
from redpacket.ports.campaigns import Draws
from redpacket.ports.packets import Packets

_PACKETS_KEPT = 5_000
_LOTTERIES_KEPT = 50
_PACKETS_AT_ONCE = 100


class CachedRows:
    """What was read strongly since the run began: of a packet that was closed before it, all."""

    def __init__(self, packets: Packets, draws: Draws) -> None:
        self._packets = packets
        self._draws = draws
        self._known: OrderedDict[str, Packet | None] = OrderedDict()
        self._lotteries: OrderedDict[str, LotterySnapshot | None] = OrderedDict()

    def fetch(self, packet_ids: Iterable[str], *, is_fresh: bool = False) -> None:
        """Read those packets that are not known, or all of them, a hundred at a time."""
        wanted = list(dict.fromkeys(packet_ids))
        for packet_id in wanted if is_fresh else ():
            self._known.pop(packet_id, None)
        for packet_id in wanted:
            if packet_id in self._known:
                self._known.move_to_end(packet_id)
        missing = [packet_id for packet_id in wanted if packet_id not in self._known]
        for start in range(0, len(missing), _PACKETS_AT_ONCE):
            chunk = missing[start : start + _PACKETS_AT_ONCE]
            self._known |= dict.fromkeys(chunk)
            self._known |= {found.packet_id: found for found in self._packets.list_packets(chunk)}

    def forget_some(self) -> None:
        """Keep the packets that were asked for last."""
        while len(self._known) > _PACKETS_KEPT:
            self._known.popitem(last=False)

    def packet(self, packet_id: str) -> Packet | None:
        """Return a packet, as it was when it was read."""
        if packet_id not in self._known:
            self.fetch([packet_id])
        return self._known[packet_id]

    def fresh_packet(self, packet_id: str) -> Packet | None:
        """Return a packet as it is now."""
        self.fetch([packet_id], is_fresh=True)
        return self._known[packet_id]

    def fresh_lottery(self, campaign_id: str) -> LotterySnapshot | None:
        """Return a campaign with its prizes as it is now."""
        self._lotteries.pop(campaign_id, None)
        return self.lottery(campaign_id)

    def lottery(self, campaign_id: str) -> LotterySnapshot | None:
        """Return a campaign with its prizes, as it was when it was read."""
        if campaign_id not in self._lotteries:
            if len(self._lotteries) >= _LOTTERIES_KEPT:
                self._lotteries.popitem(last=False)
            self._lotteries[campaign_id] = self._draws.find_table(campaign_id)
        return self._lotteries[campaign_id]
