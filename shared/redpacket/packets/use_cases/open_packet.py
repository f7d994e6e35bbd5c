"""Open (拆): step two of two. An admitted user takes a share if one is left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Never

from redpacket.packets.errors import GrabTokenInvalid
from redpacket.packets.model.claim import Claim, GrabOutcome
from redpacket.packets.model.grab_token import check_grab_token
from redpacket.packets.model.packet import Opening, Rules
from redpacket.packets.use_cases.claim_ports import ClaimPorts
from redpacket.packets.use_cases.claim_share import ClaimAttempt
from redpacket.platform.errors import Rejected
from redpacket.platform.user import User


def open_packet(
    packet_id: str, claimer: User, grab_token: str, via: str | None = None, *, ports: ClaimPorts
) -> Claim:
    """Return the user's share.

    Raises as `ClaimAttempt.run`, and GrabTokenInvalid, CampaignPaused.
    """
    attempt = _OpenAttempt(packet_id, claimer, via, ports, grab_token)
    if attempt.find_rules().opening is not Opening.TWO_STEP:
        raise GrabTokenInvalid
    return attempt.run()


@dataclass(eq=False)
class _OpenAttempt(ClaimAttempt[Never]):
    """Attempt of a user with a grab token, which proves that the grab checked all other rules."""

    grab_token: str

    def check_rules(self, stored: str) -> Rules:
        seed, now_ms = self.read_terms(stored).seed, self.ports.clock.now_ms()
        check_grab_token(self.grab_token, seed, self.packet_id, self.claimer.user_id, now_ms)
        return self.find_rules()

    def enter(self, rules: Rules, stored: str) -> GrabOutcome | Rejected:
        return self.take(rules, stored)
