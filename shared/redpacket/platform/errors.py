"""Base classes of all errors, and the errors that all contexts share.

* RedPacketError          has a stable `code`, an HTTP `status` and the text that clients get
  x Rejected              the request was refused and had no effect
    x Malformed           the request itself is invalid or not allowed
  x SwitchedOff           an operator has turned the feature off; a later retry may succeed
  x Busy                  another request with the same idempotency key is being processed
  x Unavailable           a dependency failed or its answer is unknown; a retry returns the result
  x InvariantViolated     a bug or corruption: processing of the item stops, and an alarm fires

Each context defines its errors in `errors.py`. CONTRIBUTING.md lists the files that
a new error affects.
"""

from __future__ import annotations

from typing import ClassVar, Self


class RedPacketError(Exception):
    """Base of all errors. Clients switch on *code*; a class's docstring is its default text.

    Pass another text only if the default text is too general.
    """

    code: ClassVar[str]
    status: ClassVar[int]
    title: ClassVar[str]
    """Short text, which is derived from *code* unless a class overrides it."""

    page_state: ClassVar[str | None] = None
    """State that a packet's page shows after this error; None leaves the page unchanged."""

    retry_after_s: int | None = None
    """Seconds until a retry may succeed (Retry-After); None if unknown or pointless."""

    def __init_subclass__(cls) -> None:
        """Derive *title* from *code*."""
        if "code" in vars(cls) and "title" not in vars(cls):
            cls.title = cls.code.replace("_", " ").capitalize()

    def __init__(self, detail: str | None = None) -> None:
        super().__init__(self.text() if detail is None else detail)

    @classmethod
    def text(cls) -> str:
        """Return the default text: the docstring's first paragraph."""
        return " ".join((cls.__doc__ or "").partition("\n\n")[0].split())


class Rejected(RedPacketError):
    """Base of errors for refused requests, which have no effect."""


class Malformed(Rejected):
    """Base of errors for requests that are invalid or not allowed."""


class InvalidRequest(Malformed):
    """The request does not match the API's contract. See errors for each field."""

    code = "invalid_request"
    status = 422

    def __init__(self, errors: list[dict[str, str]]) -> None:
        super().__init__("; ".join(f"{error['field']}: {error['message']}" for error in errors))
        self.errors = errors

    @classmethod
    def of(cls, field: str, message: str) -> Self:
        """Return the error for one field."""
        return cls([{"field": field, "message": message}])


def invalid_cursor() -> InvalidRequest:
    """Return the error for a cursor that no page of the list returned."""
    return InvalidRequest.of("cursor", "must be `next` of the previous page. Omit it to restart")


class PayloadTooLarge(Malformed):
    """The body exceeds the limit for this route."""

    code = "payload_too_large"
    status = 413


class IdempotencyKeyMissing(Malformed):
    """This route needs the header Idempotency-Key with 1 to 255 characters."""

    code = "idempotency_key_missing"
    status = 400


class IdempotencyKeyReused(Rejected):
    """This Idempotency-Key was used with a different request. Use a new key."""

    code = "idempotency_key_reused"
    status = 422


class Forbidden(Malformed):
    """The token's scopes or subject do not allow this request."""

    code = "forbidden"
    status = 403
    page_state = "refused"


class VersionConflict(Rejected):
    """Another operator has changed the data concurrently. Reload the data and try again."""

    code = "version_conflict"
    status = 409


class RateLimited(Rejected):
    """You sent too many requests. Wait for the number of seconds in Retry-After."""

    code = "rate_limited"
    status = 429
    retry_after_s = 1

    def __init__(self, detail: str | None = None, retry_after_s: int = retry_after_s) -> None:
        super().__init__(detail)
        self.retry_after_s = retry_after_s


class SwitchedOff(RedPacketError):
    """An operator has switched this feature off temporarily. Nothing is lost. Try again later."""

    code = "switched_off"
    status = 503
    retry_after_s = 10


class Busy(RedPacketError):
    """A request with this Idempotency-Key is in progress. Try again later."""

    code = "idempotency_key_in_use"
    status = 409
    retry_after_s = 1


KEYED = (IdempotencyKeyMissing, IdempotencyKeyReused, Busy)
"""Errors that every route with an idempotency key may return, except draws."""


class Unavailable(RedPacketError):
    """A dependency is unavailable, so the outcome is unknown. Repeat the request to find out.

    Only logs contain the text that a `raise` passes.
    """

    code = "unavailable"
    status = 503
    retry_after_s = 1


class Contended(Unavailable):
    """Concurrent requests changed the same data. Try again."""


class AddressRefused(Unavailable):
    """The provider rejects calls from our IP address, which is not on the provider's allowlist."""


class CacheAltered(Unavailable):
    """A cache key had a type that no function writes. The key was removed, so retry."""


class CacheAway(Unavailable):
    """The cache is unreachable, so a batch should stop calling it."""


class InvariantViolated(RedPacketError):
    """An internal error occurred and was reported. Contact support with the request ID.

    The cause is a bug, a wrong deployment or corrupt data. Only logs contain the text that a
    `raise` passes.
    """

    code = "internal_error"
    status = 500
