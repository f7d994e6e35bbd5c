"""Open (拆): step two of two. An admitted user takes a share if one is left."""

from __future__ import annotations

from dataclasses import replace

from redpacket.packets.errors import GrabTokenInvalid, PacketEmptied
from redpacket.packets.model.claim import Claim, GrabOutcome, GrabStatus
from redpacket.packets.model.grab_token import check_grab_token
from redpacket.packets.model.packet import Opening, Rules
from redpacket.packets.use_cases.campaign_quota import CampaignQuota, find_rules
from redpacket.packets.use_cases.claim_ports import ClaimPorts
from redpacket.packets.use_cases.claim_share import claim_share
from redpacket.packets.use_cases.load_packet import CacheLoads
from redpacket.platform.errors import Rejected
from redpacket.platform.user import User


def open_packet(
    packet_id: str, claimer: User, grab_token: str, via: str | None = None, *, ports: ClaimPorts
) -> Claim:
    """Return the user's share. Raises as `claim_share`, and GrabTokenInvalid, CampaignPaused."""
    rules = find_rules(packet_id, ports.packets)
    if rules.opening is not Opening.TWO_STEP:
        raise GrabTokenInvalid
    user_id, loads = claimer.user_id, CacheLoads(claimer.user_id, ports)

    def check_token(stored: str) -> Rules:
        # The token proves that the grab checked all other rules.
        seed = ports.seeds.read_terms(packet_id, stored).seed
        check_grab_token(grab_token, seed, packet_id, user_id, ports.clock.now_ms())
        return rules

    with CampaignQuota(packet_id, claimer, ports) as quota:
        while True:
            if ports.emptied.refuses(packet_id, user_id):
                raise PacketEmptied
            answer: GrabOutcome | Rejected
            answer = first = ports.claim_cache.grab(packet_id, user_id)
            if first.status is GrabStatus.PACKET_GATED:
                check_token(first.terms)
                answer = quota.reserve(rules) or ports.claim_cache.take(
                    packet_id, user_id, first.terms
                )
                if isinstance(answer, GrabOutcome):
                    answer = replace(answer, is_certain=answer.is_certain and first.is_certain)
            claim = claim_share(packet_id, claimer, answer, quota, check_token, via, ports)
            if isinstance(claim, Claim):
                return claim
            loads.load(packet_id, claim)
