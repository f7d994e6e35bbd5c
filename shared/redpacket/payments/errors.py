"""Payment errors. The docstring of a class with a *code* is its default text for clients."""

from __future__ import annotations

from redpacket.platform.errors import InvariantViolated, Rejected


class WithdrawalRefused(Rejected):
    """Base class of refusals for new withdrawals."""


class PaymentNotFound(Rejected):
    """This payment does not exist, or belongs to another user."""

    code = "payment_not_found"
    status = 404


class WithdrawalNotFound(Rejected):
    """This withdrawal does not exist, or belongs to another user."""

    code = "withdrawal_not_found"
    status = 404


class PayeeNotBound(Rejected):
    """Link a payout account first. A new account opens for withdrawals later."""

    code = "payee_not_bound"
    status = 409
    title = "Payout account not linked"


class AmountTooSmall(WithdrawalRefused):
    """The amount is below the minimum for one withdrawal."""

    code = "amount_too_small"
    status = 422


class AmountTooLarge(WithdrawalRefused):
    """The amount exceeds the limit for one withdrawal."""

    code = "amount_too_large"
    status = 422


class WithdrawalLimitReached(WithdrawalRefused):
    """You have reached the daily limit for withdrawals. Try again tomorrow."""

    code = "withdrawal_limit_reached"
    status = 403


class NotCancellable(Rejected):
    """The withdrawal has ended or is already paid, so it cannot be canceled."""

    code = "not_cancellable"
    status = 409
    title = "Withdrawal cannot be canceled"


class SignatureInvalid(Rejected):
    """The callback is not signed by the provider, or is too old."""

    code = "signature_invalid"
    status = 401


class OpenidInUse(Rejected):
    """This account is linked to another user. Link another account."""

    code = "openid_in_use"
    status = 409
    title = "Account in use"


class CodeInvalid(Rejected):
    """The code is wrong, used or expired. Fetch a new code and try again."""

    code = "code_invalid"
    status = 422


class ProviderChanged(InvariantViolated):
    """The row's provider is disabled, or now acts for another merchant."""
