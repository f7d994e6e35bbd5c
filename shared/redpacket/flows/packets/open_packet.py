"""Open (拆): step two of two - whoever was admitted takes a share, if one is left."""

from __future__ import annotations

from dataclasses import dataclass

from redpacket.domain.claim import Claim, Quota
from redpacket.domain.errors import GrabTokenInvalid, InvariantViolated
from redpacket.domain.grab_token import check_grab_token
from redpacket.domain.packet import Opening, Person, Rules
from redpacket.domain.split import Terms
from redpacket.flows.packets.campaign_quota import CampaignQuota
from redpacket.flows.packets.claim_share import ClaimPorts
from redpacket.flows.packets.grab_packet import GrabPorts, claim_within, find_rules, quota_for


def open_packet(
    packet_id: str, taker: Person, grab_token: str, *, book: GrabPorts, ports: ClaimPorts
) -> Claim:
    """Return the taker's share.

    Raises what `claim_share` does, and GrabTokenInvalid, CampaignPaused.
    """
    rules = find_rules(packet_id, ports)
    if rules.opening is not Opening.TWO_STEP:
        raise GrabTokenInvalid("this packet is opened by grabbing it")
    quota = quota_for(packet_id, taker, book=book, ports=ports)
    gate = _OpenGate(packet_id, taker, grab_token, rules, quota, ports)
    claim = claim_within(quota, packet_id, taker, gate=gate, ports=ports)
    if not isinstance(claim, Claim):
        msg = "an admission to what is open"
        raise InvariantViolated(msg)
    return claim


@dataclass(frozen=True, slots=True)
class _OpenGate:
    """Asks for the token, which says that everything else was asked before; and for the quota."""

    packet_id: str
    taker: Person
    grab_token: str
    rules: Rules
    campaign_quota: CampaignQuota
    ports: ClaimPorts

    def enter(self, terms: Terms) -> None:
        now_ms = self.ports.clock.now_ms()
        check_grab_token(self.grab_token, terms.seed, self.packet_id, self.taker.user_id, now_ms)
        self.campaign_quota.reserve(self.rules)

    def quota(self) -> Quota | None:
        return self.campaign_quota.find(self.rules)
