"""Open (拆): step two of two. An admitted user takes a share if one is left."""

from __future__ import annotations

from redpacket.packets.errors import GrabTokenInvalid
from redpacket.packets.model.claim import Claim, GrabOutcome
from redpacket.packets.model.grab_token import check_grab_token
from redpacket.packets.model.packet import Opening, Rules
from redpacket.packets.use_cases.campaign_quota import CampaignQuota, find_rules
from redpacket.packets.use_cases.claim_ports import ClaimPorts
from redpacket.packets.use_cases.claim_share import claim_packet
from redpacket.platform.errors import Rejected
from redpacket.platform.user import User


def open_packet(
    packet_id: str, claimer: User, grab_token: str, via: str | None = None, *, ports: ClaimPorts
) -> Claim:
    """Return the user's share. Raises as `claim_share`, and GrabTokenInvalid, CampaignPaused."""
    rules = find_rules(packet_id, ports.packets)
    if rules.opening is not Opening.TWO_STEP:
        raise GrabTokenInvalid

    def check_token(stored: str) -> Rules:
        # The token proves that the grab checked all other rules.
        seed = ports.seeds.read_terms(packet_id, stored).seed
        check_grab_token(grab_token, seed, packet_id, claimer.user_id, ports.clock.now_ms())
        return rules

    def enter(_: Rules, stored: str, quota: CampaignQuota) -> GrabOutcome | Rejected:
        return quota.take(rules, stored)

    return claim_packet(packet_id, claimer, via, check_token, enter, ports)
