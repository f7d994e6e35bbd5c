"""Process cache of a running campaign's rains and of the packets that users may grab."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import islice

from redpacket.campaigns.model import CampaignPlan
from redpacket.campaigns.ports import CampaignRepository
from redpacket.lottery.model.lottery import is_giving
from redpacket.packets.model.claim import Share
from redpacket.packets.model.packet import Packet, PacketStatus
from redpacket.packets.model.rain import SHOWN_AFTER_MS, SHOWN_AHEAD_MS, Round
from redpacket.packets.ports import PacketReader, Pages
from redpacket.packets.use_cases.round_podium import best_of_round
from redpacket.platform.errors import Unavailable
from redpacket.platform.process_cache import ProcessCache
from redpacket.platform.runtime import Clock, EventLogger

PACKETS_MAX = 100
KEPT_MS = 4_000
"""Milliseconds until users see a new packet; a read costs half a read unit per packet."""

_READS_MAX = 5
"""Maximum reads of PACKETS_MAX packets each, until PACKETS_MAX open packets are found."""

ROUNDS_KEPT_MS = 1_000
"""Milliseconds until users see a new rain, which may start soon."""

_SETTLED_MS = 5_000
"""Milliseconds after a round's end by which its last claims are durable."""

_SIZE_MAX = 100


class CachedRains:
    """Process cache of campaigns' packets and rains."""

    def __init__(
        self,
        campaigns: CampaignRepository,
        pages: Pages,
        reader: PacketReader,
        list_rounds: Callable[[str, int], list[Round]],
        *,
        clock: Clock,
        logger: EventLogger,
    ) -> None:
        self._campaigns = campaigns
        self._pages = pages
        self._reader = reader
        self._list_rounds = list_rounds
        self._clock = clock
        self._logger = logger
        self._cache: ProcessCache[str, list[Packet]] = ProcessCache(
            clock.now_ms, kept_ms=KEPT_MS, size_max=_SIZE_MAX
        )
        self._rounds: ProcessCache[str, list[Round]] = ProcessCache(
            clock.now_ms, kept_ms=ROUNDS_KEPT_MS, size_max=_SIZE_MAX
        )
        self._podiums: ProcessCache[tuple[Round, bool], tuple[Share, ...]] = ProcessCache(
            clock.now_ms, kept_ms=SHOWN_AFTER_MS, size_max=_SIZE_MAX
        )

    def get(self, campaign: CampaignPlan) -> list[Packet]:
        """Return up to 100 open packets from the campaign's newest 500, newest first.

        Raises Unavailable if the cache has no value.
        """
        now_ms = self._clock.now_ms()
        # A user with a packet's id can claim, so ids stay secret until the start.
        if not is_giving(campaign, now_ms):
            return []
        packets = self._cache.read_in_turn(campaign.campaign_id, self._read, self._log)
        return [packet for packet in packets if _is_open(packet, campaign, now_ms)]

    def rounds(self, campaign_id: str) -> list[Round]:
        """Return recent, current and later rounds; packet ids appear three seconds before a start.

        Raises Unavailable if the cache has no value.
        """
        now_ms = self._clock.now_ms()
        rounds = self._rounds.read_in_turn(campaign_id, self._read_rounds, self._log)
        return [
            each if now_ms >= each.starts_at_ms - SHOWN_AHEAD_MS else replace(each, packet_ids=())
            for each in rounds
        ]

    def _read_rounds(self, campaign_id: str) -> list[Round]:
        now_ms = self._clock.now_ms()
        rounds = self._list_rounds(campaign_id, now_ms - SHOWN_AFTER_MS + 1)
        return [replace(each, podium=self._podium(each, now_ms)) for each in rounds]

    def _podium(self, ended: Round, now_ms: int) -> tuple[Share, ...]:
        """Return the best claims of a round that has ended; none if they can't be read now."""
        if now_ms < ended.ends_at_ms:
            return ()
        is_settled = now_ms >= ended.ends_at_ms + _SETTLED_MS
        best = self._podiums.find((ended, is_settled))
        if best is None:
            try:
                packets = self._pages.list_eventually_consistent(ended.packet_ids)
                best = best_of_round(packets, self._reader)
            except Unavailable as error:
                self._log(error)
                return ()
            # Claims may become durable after the end, so don't keep an early empty result.
            if best or is_settled:
                self._podiums.keep((ended, is_settled), best)
        return best

    def _log(self, error: Unavailable) -> None:
        self._logger.failure("campaign_not_read", error)

    def _read(self, campaign_id: str) -> list[Packet]:
        ids = self._campaigns.newest_packet_ids(campaign_id, PACKETS_MAX)
        offered: list[Packet] = []
        for _ in range(_READS_MAX):
            some = list(islice(ids, PACKETS_MAX))
            packets = self._pages.list_eventually_consistent(some)
            by_id = {each.packet_id: each for each in packets if _is_offered(each)}
            offered += [by_id[packet_id] for packet_id in some if packet_id in by_id]
            if len(offered) >= PACKETS_MAX or len(some) < PACKETS_MAX:
                break
        return offered[:PACKETS_MAX]


def _is_offered(packet: Packet) -> bool:
    return packet.status is PacketStatus.OPEN and not packet.rules.is_exclusive


def _is_open(packet: Packet, campaign: CampaignPlan, now_ms: int) -> bool:
    # An edit of the campaign's window may not have reached the packet's row yet.
    starts_at_ms, ends_at_ms = packet.rules.window_in(campaign.starts_at_ms, campaign.ends_at_ms)
    return starts_at_ms <= now_ms < ends_at_ms
