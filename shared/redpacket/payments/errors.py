"""Errors of payments."""

from __future__ import annotations

from redpacket.platform.errors import InvariantViolated, Rejected


class ChannelUnavailable(Rejected):
    """The deployment has no gateway for this channel."""

    code = "channel_unavailable"
    status = 422


class PaymentNotFound(Rejected):
    """The user has no such payment."""

    code = "payment_not_found"
    status = 404


class WithdrawalNotFound(Rejected):
    """The user has no such withdrawal."""

    code = "withdrawal_not_found"
    status = 404


class PayeeNotBound(Rejected):
    """The user has no gateway account, or linked it too recently."""

    code = "payee_not_bound"
    status = 409


class AmountTooSmall(Rejected):
    """The amount is below the gateway's minimum."""

    code = "amount_too_small"
    status = 422


class AmountTooLarge(Rejected):
    """The amount exceeds the limit for one transfer."""

    code = "amount_too_large"
    status = 422


class WithdrawalLimitReached(Rejected):
    """The user reached the daily limit for withdrawals."""

    code = "withdrawal_limit_reached"
    status = 403


class NotCancellable(Rejected):
    """The withdrawal has ended or is already paid."""

    code = "not_cancellable"
    status = 409


class SignatureInvalid(Rejected):
    """A callback is not from the gateway, or is too old."""

    code = "signature_invalid"
    status = 401


class OpenidInUse(Rejected):
    """The account at the gateway belongs to another user."""

    code = "openid_in_use"
    status = 409


class CodeInvalid(Rejected):
    """The gateway's code is wrong, used or expired; the client must fetch a new one."""

    code = "code_invalid"
    status = 422


class GatewayChanged(InvariantViolated):
    """The gateway of a row's order is disabled, or now acts for another merchant."""
