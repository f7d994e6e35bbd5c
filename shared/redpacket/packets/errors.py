"""Packet errors. The docstring of each error with a code is the default text for clients."""

from __future__ import annotations

from redpacket.platform.errors import Rejected


class ClaimRefused(Rejected):
    """Base class for refusals of both grabs and opens."""


class SendRefused(Rejected):
    """Base class for refusals of sends only."""


class SplitImpossible(SendRefused):
    """The total cannot be split into this many shares. Change total_fen, count or the bounds."""

    code = "split_impossible"
    status = 422


class PacketNotFound(Rejected):
    """This packet does not exist. Check its link."""

    code = "packet_not_found"
    status = 404
    page_state = "missing"


class PictureNotFound(Rejected):
    """This picture does not exist, or was removed."""

    code = "picture_not_found"
    status = 404


class PacketNotStarted(ClaimRefused):
    """This packet is not open yet. Try again later."""

    code = "packet_not_started"
    status = 409
    page_state = "waiting"


class PacketEmptied(ClaimRefused):
    """All shares of this packet are taken."""

    code = "packet_emptied"
    status = 410
    page_state = "gone"


class PacketExpired(ClaimRefused):
    """This packet has expired. The rest is refunded to the sender, usually within a minute."""

    code = "packet_expired"
    status = 410
    page_state = "expired"


class ProofNotReady(Rejected):
    """The seed is secret until the packet, or the campaign's day, has ended. Try again then."""

    code = "proof_not_ready"
    status = 409


class NotInvited(Rejected):
    """This packet is for other recipients, or for the members of a chat."""

    code = "not_invited"
    status = 403
    page_state = "refused"


class PassphraseMismatch(Rejected):
    """The passphrase is missing or wrong. Enter or say it again."""

    code = "passphrase_mismatch"
    status = 403


class AlreadyThanked(Rejected):
    """You have already thanked the sender, with another emoji or text."""

    code = "already_thanked"
    status = 409


class QuotaExhausted(ClaimRefused):
    """You have reached this campaign's limit on shares per user."""

    code = "quota_exhausted"
    status = 403
    page_state = "refused"


class GrabTokenInvalid(Rejected):
    """The grab token has expired, or belongs to another user or packet. Grab again."""

    code = "grab_token_invalid"
    status = 403
    page_state = "ready"
