"""Open (拆): step two of two - whoever was admitted takes a share, if one is left."""

from __future__ import annotations

from dataclasses import dataclass

from redpacket.domain.claim import Claim, Quota
from redpacket.domain.errors import GrabTokenInvalid, InvariantViolated
from redpacket.domain.grab_token import check_grab_token
from redpacket.domain.packet import Opening, Person
from redpacket.domain.split import Terms
from redpacket.flows.claim_share import Desk, claim_share
from redpacket.flows.grab_packet import find_rules


def open_packet(packet_id: str, taker: Person, *, grab_token: str, desk: Desk) -> Claim:
    """Return the taker's share. Raises what `claim_share` does, and GrabTokenInvalid."""
    if find_rules(packet_id, desk).opening is not Opening.TWO_STEP:
        raise GrabTokenInvalid("this packet is opened by grabbing it")
    gate = _OpenGate(packet_id, taker, grab_token, desk)
    claim = claim_share(packet_id, taker, gate=gate, desk=desk)
    if not isinstance(claim, Claim):
        msg = "an admission to what is open"
        raise InvariantViolated(msg)
    return claim


@dataclass(frozen=True, slots=True)
class _OpenGate:
    packet_id: str
    taker: Person
    grab_token: str
    desk: Desk

    def enter(self, terms: Terms) -> None:
        check_grab_token(
            self.grab_token,
            terms.seed,
            self.packet_id,
            self.taker.user_id,
            self.desk.clock.now_ms(),
        )

    def quota(self) -> Quota | None:
        return None
