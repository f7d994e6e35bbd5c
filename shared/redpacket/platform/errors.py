"""Everything that can go wrong, each with a stable code; knows nothing about HTTP.

* RedPacketError          has a stable `code`
  x Rejected              understood and refused; retrying unchanged is pointless
    + InvalidRequest      carries `errors`, a list of {"field", "message"}
    + PayloadTooLarge
    + SplitImpossible
    + IdempotencyKeyMissing  IdempotencyKeyReused
    + InsufficientFunds  Forbidden
    + PacketNotFound  PacketNotStarted  PacketEmptied  PacketExpired  ProofNotReady
    + NotInvited  NotInAudience  PassphraseMismatch  QuotaExhausted  GrabTokenInvalid
    + CampaignNotFound  CampaignEnded  CampaignPaused  VersionConflict
    + CampaignNotStarted  DayNotStarted: carries `retry_after_s`
    + AttemptsExhausted  HelpQuotaExhausted  SelfHelp
    + SwitchNotFound  ApprovalNotFound  FourEyesNeeded
    + ChannelUnavailable  PaymentNotFound  WithdrawalNotFound  PayeeNotBound
    + AmountTooSmall  AmountTooLarge  WithdrawalLimitReached  NotCancellable  SignatureInvalid
    + OpenidInUse  CodeInvalid  AccountNotEmpty
    + RateLimited         carries `retry_after_s`: the caller was too fast
  x SwitchedOff           an operator turned this off for a while; nothing is lost
  x Busy                  another request with the same idempotency key is under way
  x Unavailable           a dependency failed or its answer is unknown; asking again gives the truth
    + AllowanceMoved      of an operator's sum of the day, which has to be read again
    + Contended           other transactions held the same rows in every attempt
    + CacheAway           nothing of the cache answers, not only what was asked for
  x InvariantViolated     a bug or corruption: that item stops, and an operator is alarmed
    + GatewayChanged      a row's gateway or merchant is not the configured one any more
"""

from __future__ import annotations

from typing import ClassVar


class RedPacketError(Exception):
    """Base of all errors of this system; clients switch on *code*."""

    code: ClassVar[str]

    retry_after_s: int | None = None
    """Seconds until a retry makes sense (Retry-After); None if an unchanged retry makes none."""


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


class ProofNotReady(Rejected):
    """Shares can still be taken: the seed stays secret until the packet has ended."""

    code = "proof_not_ready"


class NotInvited(Rejected):
    """The packet is for other recipients (专属红包)."""

    code = "not_invited"


class NotInAudience(Rejected):
    """The campaign is for other users, or the host has refused this one."""

    code = "not_in_audience"


class PassphraseMismatch(Rejected):
    """What was said is not the packet's passphrase (口令), by far."""

    code = "passphrase_mismatch"


class QuotaExhausted(Rejected):
    """The user has taken as many shares of the campaign as one may."""

    code = "quota_exhausted"


class GrabTokenInvalid(Rejected):
    """The token is not this user's for this packet, or too old: grab again."""

    code = "grab_token_invalid"


class CampaignNotFound(Rejected):
    """No such campaign, or an id that can't be one."""

    code = "campaign_not_found"


class CampaignNotStarted(Rejected):
    """The campaign opens later."""

    code = "campaign_not_started"


class DayNotStarted(CampaignNotStarted):
    """The day's round of the beacon comes later; *retry_after_s* says when it may be there."""

    retry_after_s = 1

    def __init__(self, message: str, retry_after_s: int) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class CampaignEnded(Rejected):
    """The campaign is over."""

    code = "campaign_ended"


class CampaignPaused(Rejected):
    """An operator has turned the campaign off."""

    code = "campaign_paused"


class AttemptsExhausted(Rejected):
    """The user has drawn as often as one may on this day."""

    code = "attempts_exhausted"


class HelpQuotaExhausted(Rejected):
    """Friends have given the sharer as many attempts as they may on this day."""

    code = "help_quota_exhausted"


class SelfHelp(Rejected):
    """You can't help yourself."""

    code = "self_help"


class FourEyesNeeded(Rejected):
    """Another operator must decide: not who asked, and not who is paid."""

    code = "four_eyes"


class ApprovalNotFound(Rejected):
    """No approval has this id."""

    code = "approval_not_found"


class VersionConflict(Rejected):
    """Somebody else edited it since the version that the request names."""

    code = "version_conflict"


class ChannelUnavailable(Rejected):
    """The deployment has no gateway of this name."""

    code = "channel_unavailable"


class PaymentNotFound(Rejected):
    """No such payment of this user."""

    code = "payment_not_found"


class WithdrawalNotFound(Rejected):
    """No such withdrawal of this user."""

    code = "withdrawal_not_found"


class PayeeNotBound(Rejected):
    """The user has no account at the gateway, or has it only since a moment ago."""

    code = "payee_not_bound"


class AmountTooSmall(Rejected):
    """Less than the gateway transfers."""

    code = "amount_too_small"


class AmountTooLarge(Rejected):
    """More than the gateway transfers at once."""

    code = "amount_too_large"


class WithdrawalLimitReached(Rejected):
    """The user has withdrawn as often, or as much, as one may on this day."""

    code = "withdrawal_limit_reached"


class NotCancellable(Rejected):
    """The withdrawal has ended, or is paid already."""

    code = "not_cancellable"


class SignatureInvalid(Rejected):
    """A callback is not from the gateway, or is too old."""

    code = "signature_invalid"


class AccountNotEmpty(Rejected):
    """Money is a user's, or on its way to them or from them: they can't be erased yet."""

    code = "account_not_empty"


class OpenidInUse(Rejected):
    """The account at the gateway belongs to another user."""

    code = "openid_in_use"


class CodeInvalid(Rejected):
    """The gateway's code is wrong, used before, or too old: the client fetches another one."""

    code = "code_invalid"


class WebhookNotFound(Rejected):
    """No webhook has this name."""

    code = "webhook_not_found"


class SwitchNotFound(Rejected):
    """No switch has this name."""

    code = "switch_not_found"


class RateLimited(Rejected):
    """The caller was too fast; *retry_after_s* says when they may ask again."""

    code = "rate_limited"
    retry_after_s = 1

    def __init__(self, message: str, retry_after_s: int = retry_after_s) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class SwitchedOff(RedPacketError):
    """An operator turned this off for a while; nothing is lost."""

    code = "switched_off"
    retry_after_s = 10


class Busy(RedPacketError):
    """Another request with the same idempotency key is under way."""

    code = "idempotency_key_in_use"
    retry_after_s = 1


class Unavailable(RedPacketError):
    """A dependency failed or timed out: nothing is known, and asking again gives the truth."""

    code = "unavailable"
    retry_after_s = 1


class Contended(Unavailable):
    """Other transactions held the same rows in every attempt; nothing has changed."""


class AllowanceMoved(Unavailable):
    """The same operator moved money to the same subject at the same time."""


class AddressRefused(Unavailable):
    """A gateway takes no call from our address, so its operator must enter it there."""


class CacheAway(Unavailable):
    """The cache can't be reached: a batch should stop calling it."""


class InvariantViolated(RedPacketError):
    """Two sources that must agree about money do not: nothing is paid on either's word."""

    code = "internal_error"


class GatewayChanged(InvariantViolated):
    """The gateway that has a row's order is off, or acts for another merchant now."""
