"""Base classes of all errors, and errors without a business word.

* RedPacketError          has a stable `code` and an HTTP `status`
  x Rejected              understood and refused; an unchanged retry is pointless
  x Busy                  another request with the same idempotency key is being processed
  x Unavailable           a dependency failed or its answer is unknown; a retry tells the result
  x InvariantViolated     a bug or corruption: processing of that item stops, and an alarm fires

Each context defines its own errors in its `errors.py`.
"""

from __future__ import annotations

from typing import ClassVar


class RedPacketError(Exception):
    """Base of all errors of this system; clients switch on *code*."""

    code: ClassVar[str]
    status: ClassVar[int]

    retry_after_s: int | None = None
    """Seconds until a retry makes sense (Retry-After); None if an unchanged retry makes none."""


class Rejected(RedPacketError):
    """Understood and refused, without any effect."""


class InvalidRequest(Rejected):
    """The request is not of the contract's form."""

    code = "invalid_request"
    status = 422

    def __init__(self, errors: list[dict[str, str]]) -> None:
        super().__init__("; ".join(f"{error['field']}: {error['message']}" for error in errors))
        self.errors = errors


class PayloadTooLarge(Rejected):
    """The body is over the contract's size."""

    code = "payload_too_large"
    status = 413


class IdempotencyKeyMissing(Rejected):
    """A route that moves money was called without a usable Idempotency-Key."""

    code = "idempotency_key_missing"
    status = 400


class IdempotencyKeyReused(Rejected):
    """The same key came with another body."""

    code = "idempotency_key_reused"
    status = 422


class Forbidden(Rejected):
    """The caller's token lacks the scope, or names a subject that can't be a user id."""

    code = "forbidden"
    status = 403


class VersionConflict(Rejected):
    """Somebody else edited it since the version that the request names."""

    code = "version_conflict"
    status = 409


class RateLimited(Rejected):
    """The caller was too fast; *retry_after_s* says when they may ask again."""

    code = "rate_limited"
    status = 429
    retry_after_s = 1

    def __init__(self, message: str, retry_after_s: int = retry_after_s) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class SwitchedOff(RedPacketError):
    """An operator turned this off for a while; nothing is lost."""

    code = "switched_off"
    status = 503
    retry_after_s = 10


class Busy(RedPacketError):
    """Another request with the same idempotency key is under way."""

    code = "idempotency_key_in_use"
    status = 409
    retry_after_s = 1


class Unavailable(RedPacketError):
    """A dependency failed or timed out: nothing is known, and asking again gives the truth."""

    code = "unavailable"
    status = 503
    retry_after_s = 1


class Contended(Unavailable):
    """Other transactions held the same rows in every attempt; nothing has changed."""


class AddressRefused(Unavailable):
    """A gateway takes no call from our address, so its operator must enter it there."""


class CacheAway(Unavailable):
    """The cache can't be reached: a batch should stop calling it."""


class InvariantViolated(RedPacketError):
    """Two sources that must agree about money do not: nothing is paid on either's word."""

    code = "internal_error"
    status = 500
