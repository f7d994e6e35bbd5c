"""HTTP handler for payments and withdrawals through payment providers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redpacket.containers import containers
from redpacket.ledger.errors import InsufficientFunds
from redpacket.operations.api import guards
from redpacket.operations.api.scopes import AUDITORS, TREASURERS, operator_of, refuse_operators
from redpacket.payments.api.parameters import (
    any_withdrawals_cursor_of,
    page_url_of,
    payment_id_of,
    withdrawal_id_of,
    withdrawal_status_of,
    withdrawals_cursor_of,
    withdrawer_of,
)
from redpacket.payments.api.schemas import (
    CodeBody,
    ConsentBody,
    PaymentBody,
    ResolutionBody,
    WithdrawalBody,
)
from redpacket.payments.api.views import (
    binding_view,
    consent_view,
    debt_view,
    listed_return_view,
    listed_withdrawals,
    payment_view,
    withdrawal_details,
    withdrawal_view,
)
from redpacket.payments.errors import (
    AmountTooLarge,
    AmountTooSmall,
    ChannelUnavailable,
    CodeInvalid,
    NotCancellable,
    OpenidInUse,
    PayeeNotBound,
    PaymentNotFound,
    WithdrawalLimitReached,
    WithdrawalNotFound,
)
from redpacket.payments.model.provider_name import ProviderName
from redpacket.platform.errors import (
    Busy,
    Forbidden,
    IdempotencyKeyMissing,
    IdempotencyKeyReused,
    InvalidRequest,
    RateLimited,
    SwitchedOff,
    Unavailable,
    VersionConflict,
)
from redpacket.platform.http.api import Api, HttpAnswer
from redpacket.platform.http.bodies import body_of, idempotent_request
from redpacket.platform.http.parameters import key_hash_of
from redpacket.platform.http.request import HttpRequest, RequestOf, person_of

if TYPE_CHECKING:
    from redpacket.payments.api.answers import (
        Binding,
        Consent,
        Debts,
        ListedReturn,
        ListedReturns,
        Payment,
        Token,
        WeChatJsConfig,
        Withdrawal,
        WithdrawalDetails,
        WithdrawalPage,
        Withdrawals,
    )

handler = Api()


@handler.route(
    "POST /me/payments",
    parameters=(key_hash_of,),
    statuses=(201,),
    refusals=(
        IdempotencyKeyMissing,
        IdempotencyKeyReused,
        Busy,
        InvalidRequest,
        ChannelUnavailable,
        PayeeNotBound,
        RateLimited,
        SwitchedOff,
        Unavailable,
    ),
)
def start_payment(request: RequestOf[PaymentBody]) -> HttpAnswer[Payment]:
    """Begin a payment into the caller's account, once per idempotency key."""
    guards.guard_payment()
    idempotent = idempotent_request(request)
    body = body_of(PaymentBody, request)
    payment = containers.payments.start_payment(
        request.user, body.amount_fen, body.channel, body.method, idempotent
    )
    return HttpAnswer(payment_view(payment))


@handler.route(
    "GET /me/payments/{payment_id}",
    parameters=(payment_id_of,),
    refusals=(PaymentNotFound, ChannelUnavailable, PayeeNotBound, RateLimited, Unavailable),
)
def read_payment(request: HttpRequest) -> HttpAnswer[Payment]:
    """Show a payment of the caller's; an order that was cut off is made now."""
    return HttpAnswer(
        payment_view(containers.payments.find_payment(payment_id_of(request), request.user))
    )


@handler.route(
    "POST /me/withdrawals",
    parameters=(key_hash_of,),
    statuses=(202,),
    refusals=(
        IdempotencyKeyMissing,
        IdempotencyKeyReused,
        Busy,
        InvalidRequest,
        ChannelUnavailable,
        AmountTooSmall,
        AmountTooLarge,
        PayeeNotBound,
        InsufficientFunds,
        Forbidden,
        WithdrawalLimitReached,
        SwitchedOff,
        Unavailable,
    ),
)
def withdraw(request: RequestOf[WithdrawalBody]) -> HttpAnswer[Withdrawal]:
    """Take money out, once per idempotency key: it leaves the balance now, and is paid soon."""
    guards.guard_withdrawal()
    refuse_operators(request)
    idempotent = idempotent_request(request)
    body = body_of(WithdrawalBody, request)
    held = containers.withdrawals.withdraw(request.user, body.amount_fen, body.channel, idempotent)
    return HttpAnswer(withdrawal_view(held))


@handler.route(
    "GET /me/withdrawals",
    parameters=(withdrawals_cursor_of,),
    refusals=(InvalidRequest, Unavailable),
)
def read_withdrawals(request: HttpRequest) -> HttpAnswer[Withdrawals]:
    """List the caller's withdrawals, newest first."""
    page, cursor = containers.withdrawals.list_withdrawals(
        request.user.user_id, withdrawals_cursor_of(request)
    )
    return HttpAnswer({"items": [withdrawal_view(one) for one in page], "next": cursor})


@handler.route(
    "GET /me/withdrawals/{withdrawal_id}",
    parameters=(withdrawal_id_of,),
    refusals=(WithdrawalNotFound, Unavailable),
)
def read_withdrawal(request: HttpRequest) -> HttpAnswer[Withdrawal]:
    """Show a withdrawal of the caller's."""
    found = containers.withdrawals.find_withdrawal(withdrawal_id_of(request), request.user.user_id)
    return HttpAnswer(withdrawal_view(found))


@handler.route(
    "POST /me/withdrawals/{withdrawal_id}/cancel",
    parameters=(withdrawal_id_of,),
    statuses=(202,),
    refusals=(WithdrawalNotFound, NotCancellable, Unavailable),
)
def cancel_withdrawal(request: HttpRequest) -> HttpAnswer[Withdrawal]:
    """Request the cancellation of a withdrawal; one that was paid already becomes `paid`."""
    found = containers.withdrawals.cancel_withdrawal(
        withdrawal_id_of(request), request.user.user_id
    )
    return HttpAnswer(withdrawal_view(found))


@handler.route("GET /me/wechat", refusals=(Unavailable,))
def read_wechat(request: HttpRequest) -> HttpAnswer[Binding]:
    """Show which WeChat account is linked, and when withdrawals to it open."""
    return HttpAnswer(
        binding_view(containers.withdrawals.find_account(request.user.user_id, ProviderName.WECHAT))
    )


@handler.route(
    "POST /me/wechat",
    refusals=(InvalidRequest, ChannelUnavailable, CodeInvalid, OpenidInUse, Unavailable),
)
def bind_wechat(request: RequestOf[CodeBody]) -> HttpAnswer[Binding]:
    """Bind the caller's WeChat account; after another one withdrawals wait for a day."""
    body = body_of(CodeBody, request)
    return HttpAnswer(
        binding_view(
            containers.withdrawals.bind_account(
                request.user.user_id, ProviderName.WECHAT, body.code
            )
        )
    )


@handler.route(
    "POST /me/wechat/authorization",
    statuses=(202,),
    refusals=(InvalidRequest, ChannelUnavailable, PayeeNotBound, Unavailable),
)
def authorize(request: RequestOf[ConsentBody]) -> HttpAnswer[Consent]:
    """Request the caller's consent to transfers without a confirmation each."""
    body = body_of(ConsentBody, request)
    found = containers.withdrawals.authorize(
        request.user.user_id, ProviderName.WECHAT, body.display_name
    )
    return HttpAnswer(consent_view(found))


@handler.route(
    "DELETE /me/wechat/authorization", statuses=(202,), refusals=(ChannelUnavailable, Unavailable)
)
def end_authorization(request: HttpRequest) -> HttpAnswer[Consent]:
    """End the caller's consent: no later withdrawal uses it."""
    return HttpAnswer(
        consent_view(
            containers.withdrawals.end_authorization(request.user.user_id, ProviderName.WECHAT)
        )
    )


@handler.route(
    "POST /auth/wechat",
    is_public=True,
    refusals=(InvalidRequest, ChannelUnavailable, CodeInvalid, Unavailable),
)
def sign_in(request: RequestOf[CodeBody]) -> HttpAnswer[Token]:
    """Get a token of the deployment's own issuer, and bind the account that the code belongs to."""
    body = body_of(CodeBody, request)
    token, expires_at_ms = containers.withdrawals.sign_in(
        ProviderName.WECHAT, body.code, lambda subject: person_of(subject).user_id
    )
    return HttpAnswer({"token": token, "expires_at_ms": expires_at_ms})


@handler.route(
    "GET /wechat/js-config",
    parameters=(page_url_of,),
    is_public=True,
    refusals=(InvalidRequest, ChannelUnavailable, Unavailable),
)
def sign_page_url(request: HttpRequest) -> HttpAnswer[WeChatJsConfig]:
    """Sign an address of the page, which then may use WeChat's JS-SDK there."""
    return HttpAnswer(
        containers.providers.page_signer(ProviderName.WECHAT).sign(page_url_of(request))
    )


@handler.route(
    "GET /admin/payments/returns",
    parameters=(withdrawals_cursor_of,),
    scopes=AUDITORS,
    refusals=(InvalidRequest, Unavailable),
)
def read_listed_returns(request: HttpRequest) -> HttpAnswer[ListedReturns]:
    """List money that gateways took and that waits for a person, newest first."""
    page, cursor = containers.payments.list_listed_returns(withdrawals_cursor_of(request))
    return HttpAnswer({"items": [listed_return_view(one) for one in page], "next": cursor})


@handler.route(
    "POST /admin/payments/returns",
    scopes=TREASURERS,
    refusals=(InvalidRequest, PaymentNotFound, VersionConflict, Unavailable),
)
def resolve_return(request: RequestOf[ResolutionBody]) -> HttpAnswer[ListedReturn]:
    """Take money that waits for a person off the list, once it was deposited or paid outside."""
    resolution = body_of(ResolutionBody, request).parsed
    resolved = containers.payments.resolve_return(resolution, operator_of(request).user_id)
    return HttpAnswer(listed_return_view(resolved))


@handler.route(
    "GET /admin/withdrawals",
    parameters=(withdrawal_status_of, withdrawer_of, any_withdrawals_cursor_of),
    scopes=AUDITORS,
    refusals=(InvalidRequest, Unavailable),
)
def list_withdrawals(request: HttpRequest) -> HttpAnswer[WithdrawalPage]:
    """List withdrawals that have not ended, the oldest first, or all of a user."""
    user_id, status = withdrawer_of(request), withdrawal_status_of(request)
    page, cursor = containers.withdrawals.list_of_operators(
        user_id, status, any_withdrawals_cursor_of(request)
    )
    return HttpAnswer({"items": listed_withdrawals(page), "next": cursor})


@handler.route(
    "GET /admin/withdrawals/{withdrawal_id}",
    parameters=(withdrawal_id_of,),
    scopes=AUDITORS,
    refusals=(WithdrawalNotFound, Unavailable),
)
def show_withdrawal(request: HttpRequest) -> HttpAnswer[WithdrawalDetails]:
    """Show what a withdrawal waits for, and the provider's last answers."""
    found = containers.withdrawals.find_any(withdrawal_id_of(request))
    if found is None:
        raise WithdrawalNotFound("This withdrawal does not exist.")
    return HttpAnswer(withdrawal_details(found))


@handler.route(
    "GET /admin/payments/debts",
    parameters=(withdrawals_cursor_of,),
    scopes=AUDITORS,
    refusals=(InvalidRequest, Unavailable),
)
def read_debts(request: HttpRequest) -> HttpAnswer[Debts]:
    """List users who owe money, because it was refunded at the gateway after they had spent it."""
    page, cursor = containers.payments.list_debts(withdrawals_cursor_of(request))
    return HttpAnswer({"items": [debt_view(*one) for one in page], "next": cursor})
