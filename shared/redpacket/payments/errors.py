"""Errors of payments."""

from __future__ import annotations

from redpacket.platform.errors import InvariantViolated, Rejected


class ChannelUnavailable(Rejected):
    """The deployment has no gateway of this name."""

    code = "channel_unavailable"
    status = 422


class PaymentNotFound(Rejected):
    """No such payment of this user."""

    code = "payment_not_found"
    status = 404


class WithdrawalNotFound(Rejected):
    """No such withdrawal of this user."""

    code = "withdrawal_not_found"
    status = 404


class PayeeNotBound(Rejected):
    """The user has no account at the gateway, or has it only since a moment ago."""

    code = "payee_not_bound"
    status = 409


class AmountTooSmall(Rejected):
    """Less than the gateway transfers."""

    code = "amount_too_small"
    status = 422


class AmountTooLarge(Rejected):
    """More than the gateway transfers at once."""

    code = "amount_too_large"
    status = 422


class WithdrawalLimitReached(Rejected):
    """The user has withdrawn as often, or as much, as one may on this day."""

    code = "withdrawal_limit_reached"
    status = 403


class NotCancellable(Rejected):
    """The withdrawal has ended, or is paid already."""

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
    """The gateway's code is wrong, used before, or too old: the client fetches another one."""

    code = "code_invalid"
    status = 422


class GatewayChanged(InvariantViolated):
    """The gateway that has a row's order is off, or acts for another merchant now."""
