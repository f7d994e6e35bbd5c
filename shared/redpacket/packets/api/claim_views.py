"""Responses of the grab function, in a separate module to keep its imports small."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from redpacket.packets.model.claim import Admission, Claim, Share

if TYPE_CHECKING:
    from redpacket.packets.api import answers as packets
    from redpacket.packets.model.thanks import Thanks


def grab_view(answer: Claim | Admission) -> packets.Claim | packets.Admission:
    """Return a claim, or an admission with its token and deadline."""
    if isinstance(answer, Claim):
        return claim_view(answer)
    return {
        "outcome": "admitted",
        "grab_token": answer.grab_token,
        "expires_at_ms": answer.expires_at_ms,
    }


def claim_view(claim: Claim) -> packets.Claim:
    """Return a claim."""
    share = claim.share
    return {
        "outcome": "claimed" if claim.is_new else "already_claimed",
        "packet_id": share.packet_id,
        "share_no": share.share_no,
        "amount_fen": share.amount_fen,
        "claimed_at_ms": share.decided_at_ms,
        "payout": payout_of(share),
    }


def thanked_view(packet_id: str, share_no: int, thanks: Thanks) -> packets.Thanked:
    """Return the stored thanks for a share."""
    return {
        "packet_id": packet_id,
        "share_no": share_no,
        "thanks": thanks.emoji,
        "thanks_text": thanks.text,
    }


def payout_of(share: Share) -> Literal["queued", "settled"]:
    """Return "settled" once the claimer was credited, otherwise "queued"."""
    return "queued" if share.settled_at_ms is None else "settled"
