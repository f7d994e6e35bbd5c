"""HTTP handler for payments and withdrawals through payment providers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redpacket.containers import containers
from redpacket.ledger.errors import ChannelUnavailable, InsufficientFunds
from redpacket.ledger.provider_name import ProviderName
from redpacket.operations.api import guards
from redpacket.operations.api.reads import is_known, noted_read
from redpacket.operations.api.scopes import AUDITORS, TREASURERS, operator_of, refuse_operators
from redpacket.payments.api.parameters import (
    any_withdrawals_cursor_of,
    payment_id_of,
    withdrawal_id_of,
    withdrawal_status_of,
    withdrawals_cursor_of,
    withdrawer_of,
)
from redpacket.payments.api.schemas import (
    PaymentBody,
    ResolutionBody,
    WithdrawalBody,
)
from redpacket.payments.api.views import (
    debt_views,
    listed_return_view,
    listed_withdrawals,
    payment_view,
    withdrawal_details,
    withdrawal_view,
)
from redpacket.payments.errors import (
    NotCancellable,
    PayeeNotBound,
    PaymentNotFound,
    WithdrawalNotFound,
    WithdrawalRefused,
)
from redpacket.payments.model.provider import PayMethod
from redpacket.payments.use_cases import return_payment, transfer
from redpacket.payments.use_cases import start_payment as payment_flow
from redpacket.payments.use_cases import withdraw as withdrawal_flow
from redpacket.payments.use_cases.return_payment import list_debts
from redpacket.platform.errors import (
    KEYED,
    RateLimited,
    SwitchedOff,
    VersionConflict,
)
from redpacket.platform.http.api import Api, HttpAnswer
from redpacket.platform.http.bodies import body_of, idempotent_request
from redpacket.platform.http.parameters import key_hash_of
from redpacket.platform.http.request import HttpRequest, RequestOf

if TYPE_CHECKING:
    from redpacket.payments.api.answers import (
        Debts,
        ListedReturn,
        ListedReturns,
        Payment,
        Withdrawal,
        WithdrawalDetails,
        WithdrawalPage,
        Withdrawals,
    )

_WITHDRAWALS_PER_PAGE = 20

_RETURNS_PER_PAGE = 100

_DEBTS_PER_PAGE = 20
"""Number of debts per page; each requires a read of the user's balance."""

handler = Api()


@handler.route(
    "POST /me/payments",
    parameters=(key_hash_of,),
    statuses=(201,),
    refusals=(*KEYED, ChannelUnavailable, PayeeNotBound, RateLimited, SwitchedOff),
)
def start_payment(request: RequestOf[PaymentBody]) -> HttpAnswer[Payment]:
    """Start a payment into the caller's account, once per idempotency key."""
    guards.guard_payment()
    idempotent = idempotent_request(request)
    body = body_of(PaymentBody, request)
    user, payments = request.user, containers.payments
    # The payment's event needs the user's host id, so store it.
    containers.users.profiles.note(user, containers.platform.clock.now_ms())
    channel, method = ProviderName(body.channel), PayMethod(body.method)
    payment = payment_flow.start_payment(
        payment_flow.PaymentAsk(user.user_id, body.amount_fen, channel, method, idempotent),
        payees=payments.payees_of(user),
        ports=payments.payment_ports,
    )
    return HttpAnswer(payment_view(payment))


@handler.route(
    "GET /me/payments/{payment_id}",
    parameters=(payment_id_of,),
    refusals=(PaymentNotFound, ChannelUnavailable, PayeeNotBound, RateLimited),
)
def read_payment(request: HttpRequest) -> HttpAnswer[Payment]:
    """Show the caller's payment, and complete its order if a crash interrupted it."""
    user, payments = request.user, containers.payments
    ports, payees = payments.payment_ports, payments.payees_of(user)
    payment = payment_flow.find_payment(
        payment_id_of(request), user.user_id, ports=ports, payees=payees
    )
    return HttpAnswer(payment_view(payment))


@handler.route(
    "POST /me/withdrawals",
    parameters=(key_hash_of,),
    statuses=(202,),
    refusals=(
        *KEYED,
        WithdrawalRefused,
        ChannelUnavailable,
        PayeeNotBound,
        InsufficientFunds,
        SwitchedOff,
    ),
)
def withdraw(request: RequestOf[WithdrawalBody]) -> HttpAnswer[Withdrawal]:
    """Withdraw money, once per idempotency key. The debit is immediate; the payout follows."""
    guards.guard_withdrawal()
    refuse_operators(request)
    idempotent = idempotent_request(request)
    body = body_of(WithdrawalBody, request)
    user, channel = request.user, ProviderName(body.channel)
    held = withdrawal_flow.withdraw(
        withdrawal_flow.WithdrawalAsk(user.user_id, body.amount_fen, channel, idempotent),
        payees=containers.payments.payees_of(user),
        ports=containers.payments.withdrawal_ports,
        payments=containers.payments.payment_ports,
    )
    return HttpAnswer(withdrawal_view(held))


@handler.route(
    "GET /me/withdrawals",
    parameters=(withdrawals_cursor_of,),
)
def read_withdrawals(request: HttpRequest) -> HttpAnswer[Withdrawals]:
    """List the caller's withdrawals, newest first."""
    page, cursor = containers.payments.withdrawal_repository.list_of_user(
        request.user.user_id, withdrawals_cursor_of(request), _WITHDRAWALS_PER_PAGE
    )
    return HttpAnswer(
        {"items": [withdrawal_view(withdrawal) for withdrawal in page], "next": cursor}
    )


@handler.route(
    "GET /me/withdrawals/{withdrawal_id}",
    parameters=(withdrawal_id_of,),
    refusals=(WithdrawalNotFound,),
)
def read_withdrawal(request: HttpRequest) -> HttpAnswer[Withdrawal]:
    """Show the caller's withdrawal."""
    withdrawal = withdrawal_flow.find_withdrawal(
        withdrawal_id_of(request),
        request.user.user_id,
        ports=containers.payments.withdrawal_ports,
    )
    return HttpAnswer(withdrawal_view(withdrawal))


@handler.route(
    "POST /me/withdrawals/{withdrawal_id}/cancel",
    parameters=(withdrawal_id_of,),
    statuses=(202,),
    refusals=(WithdrawalNotFound, NotCancellable, SwitchedOff),
)
def cancel_withdrawal(request: HttpRequest) -> HttpAnswer[Withdrawal]:
    """Request a withdrawal's cancellation; it stays `cancelling` until the provider answers."""
    guards.guard_withdrawal()
    withdrawal = transfer.cancel_withdrawal(
        withdrawal_id_of(request),
        request.user.user_id,
        ports=containers.payments.withdrawal_ports,
    )
    return HttpAnswer(withdrawal_view(withdrawal))


@handler.route(
    "GET /admin/payments/returns",
    parameters=(withdrawals_cursor_of,),
    scopes=AUDITORS,
)
def read_listed_returns(request: HttpRequest) -> HttpAnswer[ListedReturns]:
    """List payments that await an operator's decision, newest first."""
    page, cursor = containers.payments.payment_lists.list_listed_returns(
        withdrawals_cursor_of(request), _RETURNS_PER_PAGE
    )
    return HttpAnswer(
        {"items": [listed_return_view(returned) for returned in page], "next": cursor}
    )


@handler.route(
    "POST /admin/payments/returns",
    scopes=TREASURERS,
    refusals=(PaymentNotFound, VersionConflict),
)
def resolve_return(request: RequestOf[ResolutionBody]) -> HttpAnswer[ListedReturn]:
    """Resolve a listed payment after you deposited the money or paid it back outside.

    Above your limit, `outside` returns 403. Make a deposit instead, which another operator can
    approve.
    """
    resolved = return_payment.resolve_return(
        body_of(ResolutionBody, request).parsed,
        operator_of(request),
        policy=containers.editing.approval_policy,
        ports=containers.payments.payment_ports,
    )
    return HttpAnswer(listed_return_view(resolved))


@handler.route(
    "GET /admin/withdrawals",
    parameters=(withdrawal_status_of, withdrawer_of, any_withdrawals_cursor_of),
    scopes=AUDITORS,
)
def list_withdrawals(request: HttpRequest) -> HttpAnswer[WithdrawalPage]:
    """List unfinished withdrawals, or all of one user's withdrawals."""
    user_id = withdrawer_of(request)
    if user_id and not is_known(user_id):
        return HttpAnswer(
            {"items": noted_read(request, "withdrawals", [], user=user_id), "next": None}
        )
    page, cursor = withdrawal_flow.list_withdrawals(
        user_id,
        withdrawal_status_of(request),
        any_withdrawals_cursor_of(request),
        ports=containers.payments.withdrawal_ports,
        lists=containers.payments.payment_lists,
    )
    rows = noted_read(
        request,
        "withdrawals",
        listed_withdrawals(page),
        user=user_id,
        status=withdrawal_status_of(request),
    )
    return HttpAnswer({"items": rows, "next": cursor})


@handler.route(
    "GET /admin/withdrawals/{withdrawal_id}",
    parameters=(withdrawal_id_of,),
    scopes=AUDITORS,
    refusals=(WithdrawalNotFound,),
)
def show_withdrawal(request: HttpRequest) -> HttpAnswer[WithdrawalDetails]:
    """Show a withdrawal's pending step and the provider's last answers."""
    ports = containers.payments.withdrawal_ports
    withdrawal = withdrawal_flow.find_withdrawal(withdrawal_id_of(request), None, ports=ports)
    (details,) = noted_read(
        request,
        "withdrawals",
        [withdrawal_details(withdrawal)],
        withdrawal_id=withdrawal.withdrawal_id,
    )
    return HttpAnswer(details)


@handler.route(
    "GET /admin/payments/debts",
    parameters=(withdrawals_cursor_of,),
    scopes=AUDITORS,
)
def read_debts(request: HttpRequest) -> HttpAnswer[Debts]:
    """List users who owe money because a provider refunded money that they had spent."""
    page, cursor = list_debts(
        withdrawals_cursor_of(request),
        _DEBTS_PER_PAGE,
        lists=containers.payments.payment_lists,
        ledger=containers.packets.ledger,
    )
    return HttpAnswer({"items": noted_read(request, "debts", debt_views(page)), "next": cursor})


for _channel in ProviderName:
    handler.operations |= _channel.module("api").routes.operations
