"""Preheat: loading a campaign's packets and users before its start or after a cache loss."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from redpacket.campaigns.model import AUDIENCE_BUCKETS
from redpacket.campaigns.ports import CampaignRepository
from redpacket.campaigns.use_cases.cached_campaigns import get_campaign
from redpacket.packets.model.packet import Packet, PacketStatus, shard_count, shard_id
from redpacket.packets.model.picture import picture_id_of
from redpacket.packets.ports import ClaimCache, PacketScheduler
from redpacket.platform.errors import InvariantViolated, Unavailable
from redpacket.platform.runtime import Clock, EventLogger, InParallel

_IDS_PER_READ = 500

_BUCKETS_AT_ONCE = 32
"""Buckets loaded between two checks of the time; 32 buckets of 3,900 users take half a second."""


@dataclass(frozen=True, slots=True)
class Preheated:
    """Packet counts of one call; *next_cursor* is None if the preheat is complete."""

    packet_count: int
    loaded_count: int
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class PreheatPorts:
    """Dependencies of a preheat."""

    campaigns: CampaignRepository
    packets: PacketScheduler
    claim_cache: ClaimCache
    load_audience: Callable[[str, int], None]
    in_parallel: InParallel
    clock: Clock
    logger: EventLogger


def preheat_campaign(
    campaign_id: str,
    cursor: str | None,
    stop_at_ms: int,
    *,
    ports: PreheatPorts,
) -> Preheated:
    """Load the campaign's users and open packets until the time is up. Raises CampaignNotFound."""
    campaign = get_campaign(campaign_id, campaigns=ports.campaigns)
    packets, clock = ports.packets, ports.clock
    if campaign.audience_mode and cursor is None:
        _load_users(campaign_id, stop_at_ms, ports)
    packet_count = loaded_count = 0
    for packet_id, first_shard in _packets_after(cursor or "", campaign_id, ports):
        shards = 1  # a packet that can't be read counts as one that is not loaded
        try:
            packet = _get(packet_id, packets)
            shards = 0 if packet.status is PacketStatus.CLOSED else shard_count(packet_id)
            for shard in range(first_shard, shards):
                ports.claim_cache.load(packet, packets.list_shard_shares(packet_id, shard), shard)
                # Check the time after a shard, so that every call makes progress.
                if shard + 1 < shards and clock.now_ms() >= stop_at_ms:
                    return Preheated(packet_count, loaded_count, shard_id(packet_id, shard))
            if shards:
                # Leave a packet with an uploaded cover to the sweep, which also keeps the cover.
                if not picture_id_of(packet.cover_url):
                    packets.mark_loaded(packet)
                loaded_count += 1
        except Exception as error:  # noqa: BLE001 - one bad row must not stop the others
            ports.logger.failure("preheat_failed", error, packet_id=packet_id)
        packet_count += shards > 0
        if clock.now_ms() >= stop_at_ms:
            return Preheated(packet_count, loaded_count, packet_id)
    return Preheated(packet_count, loaded_count, None)


def _load_users(campaign_id: str, stop_at_ms: int, ports: PreheatPorts) -> None:
    def load(bucket: int) -> None:
        ports.load_audience(campaign_id, bucket)

    try:
        for first in range(0, AUDIENCE_BUCKETS, _BUCKETS_AT_ONCE):
            if ports.clock.now_ms() >= stop_at_ms:
                return
            ports.in_parallel(load, range(first, first + _BUCKETS_AT_ONCE))
    except Unavailable as error:
        ports.logger.failure("audience_not_loaded", error, campaign_id=campaign_id)


def _packets_after(cursor: str, campaign_id: str, ports: PreheatPorts) -> Iterator[tuple[str, int]]:
    last_id, _, last_shard = cursor.partition(".")
    last = ports.packets.find_packet(last_id) if last_shard else None
    if last and last.rules.campaign_id == campaign_id:
        next_shard = int(last_shard) + 1
        if next_shard < shard_count(last_id):
            yield last_id, next_shard
    while ids := ports.campaigns.list_packet_ids(campaign_id, last_id or None, _IDS_PER_READ):
        yield from ((packet_id, 0) for packet_id in ids)
        last_id = ids[-1]


def _get(packet_id: str, packets: PacketScheduler) -> Packet:
    packet = packets.find_packet(packet_id)
    if packet is None:
        raise InvariantViolated(f"the campaign's packet {packet_id} does not exist")
    return packet
