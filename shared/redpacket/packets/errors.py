"""Errors of packets."""

from __future__ import annotations

from redpacket.platform.errors import Rejected


class SplitImpossible(Rejected):
    """No amounts within the bounds add up to the total."""

    code = "split_impossible"
    status = 422


class PacketNotFound(Rejected):
    """No such packet, or an id that can't be one."""

    code = "packet_not_found"
    status = 404


class PacketNotStarted(Rejected):
    """The packet opens later."""

    code = "packet_not_started"
    status = 409


class PacketEmptied(Rejected):
    """Every share is taken."""

    code = "packet_emptied"
    status = 410


class PacketExpired(Rejected):
    """The packet's life is over; what was left went back to the sender."""

    code = "packet_expired"
    status = 410


class ProofNotReady(Rejected):
    """Shares can still be taken: the seed stays secret until the packet has ended."""

    code = "proof_not_ready"
    status = 409


class NotInvited(Rejected):
    """The packet is for other recipients (专属红包)."""

    code = "not_invited"
    status = 403


class PassphraseMismatch(Rejected):
    """What was said is not the packet's passphrase (口令), by far."""

    code = "passphrase_mismatch"
    status = 403


class QuotaExhausted(Rejected):
    """The user has taken as many shares of the campaign as one may."""

    code = "quota_exhausted"
    status = 403


class GrabTokenInvalid(Rejected):
    """The token is not this user's for this packet, or too old: grab again."""

    code = "grab_token_invalid"
    status = 403
