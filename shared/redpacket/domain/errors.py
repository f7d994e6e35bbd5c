"""Everything that can go wrong, each with a stable code; knows nothing about HTTP.

* RedPacketError          has a stable `code`
  x Rejected              understood and refused; retrying unchanged is pointless
    + InvalidRequest      carries `errors`, a list of {"field", "message"}
    + PayloadTooLarge
    + SplitImpossible
    + IdempotencyKeyMissing  IdempotencyKeyReused
    + InsufficientFunds  Forbidden
    + PacketNotFound  PacketNotStarted  PacketEmptied  PacketExpired
  x Busy                  another request with the same idempotency key is under way
  x Unavailable           a dependency failed or its answer is unknown; asking again gives the truth
  x InvariantViolated     a bug or corruption: that item stops, and an operator is alarmed
"""

from __future__ import annotations

from typing import ClassVar


class RedPacketError(Exception):
    """Base of all errors of this system; clients switch on *code*."""

    code: ClassVar[str]


class Rejected(RedPacketError):
    """Understood and refused, without any effect."""


class InvalidRequest(Rejected):
    """The request is not of the contract's form."""

    code = "invalid_request"

    def __init__(self, errors: list[dict[str, str]]) -> None:
        super().__init__("; ".join(f"{error['field']}: {error['message']}" for error in errors))
        self.errors = errors


class PayloadTooLarge(Rejected):
    """The body is over the contract's size."""

    code = "payload_too_large"


class SplitImpossible(Rejected):
    """No amounts within the bounds add up to the total."""

    code = "split_impossible"


class IdempotencyKeyMissing(Rejected):
    """A route that moves money was called without a usable Idempotency-Key."""

    code = "idempotency_key_missing"


class IdempotencyKeyReused(Rejected):
    """The same key came with another body."""

    code = "idempotency_key_reused"


class InsufficientFunds(Rejected):
    """The account holds less than the transfer takes."""

    code = "insufficient_funds"


class Forbidden(Rejected):
    """The caller's token lacks the scope, or names a subject that can't be a user id."""

    code = "forbidden"


class PacketNotFound(Rejected):
    """No such packet, or an id that can't be one."""

    code = "packet_not_found"


class PacketNotStarted(Rejected):
    """The packet opens later."""

    code = "packet_not_started"


class PacketEmptied(Rejected):
    """Every share is taken."""

    code = "packet_emptied"


class PacketExpired(Rejected):
    """The packet's life is over; what was left went back to the sender."""

    code = "packet_expired"


class Busy(RedPacketError):
    """Another request with the same idempotency key is under way."""

    code = "idempotency_key_in_use"


class Unavailable(RedPacketError):
    """A dependency failed or timed out: nothing is known, and asking again gives the truth."""

    code = "unavailable"


class InvariantViolated(RedPacketError):
    """Two sources that must agree about money do not: nothing is paid on either's word."""

    code = "internal_error"
