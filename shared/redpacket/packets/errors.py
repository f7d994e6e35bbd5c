"""Errors of packets."""

from __future__ import annotations

from redpacket.platform.errors import Rejected


class SplitImpossible(Rejected):
    """No amounts within the bounds add up to the total."""

    code = "split_impossible"
    status = 422


class PacketNotFound(Rejected):
    """The packet does not exist, or the id is malformed."""

    code = "packet_not_found"
    status = 404


class PacketNotStarted(Rejected):
    """The packet is not open yet."""

    code = "packet_not_started"
    status = 409


class PacketEmptied(Rejected):
    """Every share is taken."""

    code = "packet_emptied"
    status = 410


class PacketExpired(Rejected):
    """The packet has expired, and the remaining shares were refunded to the sender."""

    code = "packet_expired"
    status = 410


class ProofNotReady(Rejected):
    """Shares can still be claimed, so the seed stays secret until the packet has ended."""

    code = "proof_not_ready"
    status = 409


class NotInvited(Rejected):
    """The packet is for other recipients (专属红包)."""

    code = "not_invited"
    status = 403


class PassphraseMismatch(Rejected):
    """The text does not match the packet's passphrase (口令)."""

    code = "passphrase_mismatch"
    status = 403


class AlreadyThanked(Rejected):
    """The user has thanked the sender with another emoji."""

    code = "already_thanked"
    status = 409


class QuotaExhausted(Rejected):
    """The user has reached the campaign's limit of shares."""

    code = "quota_exhausted"
    status = 403


class GrabTokenInvalid(Rejected):
    """The grab token belongs to another user or packet, or has expired."""

    code = "grab_token_invalid"
    status = 403
