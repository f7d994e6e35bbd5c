"""Payments and their returns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from redpacket.containers.container import Container

if TYPE_CHECKING:
    from redpacket.containers.ledger import LedgerContainer
    from redpacket.containers.packets import PacketsContainer
    from redpacket.containers.providers import ProvidersContainer
    from redpacket.containers.users import UsersContainer
    from redpacket.payments.dynamodb.provider_pace import DynamoGatewayPace
    from redpacket.payments.model.channel import Channel
    from redpacket.payments.model.payments import Payment, PaymentRefund, PaymentReturn, Resolution
    from redpacket.payments.model.provider import Merchant
    from redpacket.payments.ports import PaymentLists, PaymentRepository, ReturnRepository
    from redpacket.payments.provider_ports import NoticeQueue
    from redpacket.payments.use_cases.payment_ports import PaymentPorts
    from redpacket.payments.withdrawal_ports import (
        AuthorizationRepository,
        BoundPayees,
        Payees,
        WithdrawalRepository,
    )
    from redpacket.platform.idempotency import Request
    from redpacket.platform.user import User


_RETURNS_PER_PAGE = 100

_PAYMENTS_PER_DAY = 100

_DEBTS_PER_PAGE = 20
"""Debts on one page; each also reads a user's balance."""


@dataclass(eq=False)
class PaymentsContainer(Container):
    """Payments and their returns."""

    users: UsersContainer
    ledger: LedgerContainer
    packets: PacketsContainer
    providers: ProvidersContainer

    @cached_property
    def payment_book(self) -> PaymentRepository:
        from redpacket.payments.dynamodb.payments import DynamoPayments

        return DynamoPayments(
            self.dynamo,
            self.settings.payments_table,
            self.settings.accounts_table,
            self.settings.packets_table,
        )

    @cached_property
    def return_book(self) -> ReturnRepository:
        from redpacket.payments.dynamodb.returns import DynamoReturns

        return DynamoReturns(
            self.dynamo,
            self.settings.payments_table,
            self.settings.accounts_table,
            self.settings.journal_table,
        )

    @cached_property
    def withdrawal_book(self) -> WithdrawalRepository:
        from redpacket.payments.dynamodb.withdrawals import DynamoWithdrawals

        return DynamoWithdrawals(
            self.dynamo,
            self.settings.payments_table,
            self.settings.accounts_table,
        )

    @cached_property
    def gateway_pace(self) -> DynamoGatewayPace:
        from redpacket.payments.dynamodb.provider_pace import DynamoGatewayPace

        return DynamoGatewayPace(self.dynamo, self.settings.payments_table)

    @cached_property
    def bound_payees(self) -> BoundPayees:
        from redpacket.payments.dynamodb.payees import DynamoPayees

        return DynamoPayees(self.dynamo, self.settings.payments_table)

    def payees_of(self, user: User) -> Payees:
        """Return the payout accounts of the request's user."""
        from redpacket.payments.clients.token_payees import TokenPayees

        return TokenPayees(user, self.providers.host_accounts, self.bound_payees)

    @cached_property
    def consents(self) -> AuthorizationRepository:
        from redpacket.payments.dynamodb.authorizations import DynamoAuthorizations

        return DynamoAuthorizations(self.dynamo, self.settings.payments_table)

    @cached_property
    def payment_lists(self) -> PaymentLists:
        from redpacket.payments.dynamodb.lists import DynamoPaymentLists

        return DynamoPaymentLists(self.dynamo, self.settings.payments_table)

    @cached_property
    def notice_queue(self) -> NoticeQueue:
        from redpacket.payments.clients.sqs_notices import SqsNotices

        return SqsNotices(lambda: self.platform.aws("sqs"), self.settings.notice_queue_url)

    @cached_property
    def payment_ports(self) -> PaymentPorts:
        from redpacket.payments.api.parameters import new_payment_id
        from redpacket.payments.ports import PaymentLimits
        from redpacket.payments.use_cases.payment_ports import PaymentPorts

        return PaymentPorts(
            gateways=self.providers.gateways_in,
            book=self.payment_book,
            returns=self.return_book,
            compared=self.gateway_pace,
            ledger=self.ledger.repository,
            packets=self.packets.repository,
            work=self.packets.work_lists(0, 1),
            clock=self.clock,
            journal=self.journal,
            new_number=new_payment_id,
            limits=PaymentLimits(_PAYMENTS_PER_DAY),
        )

    def start_payment(
        self, user: User, amount_fen: int, channel: str, method: str, request: Request
    ) -> Payment:
        """Start a payment into a user's account, once for each request."""
        from redpacket.payments.model.channel import Channel
        from redpacket.payments.model.provider import PayMethod
        from redpacket.payments.use_cases.start_payment import PaymentAsk, start_payment

        # An event will report the payment under the host's user id.
        self.users.profiles.note(user, self.clock.now_ms())
        by, how = Channel(channel), PayMethod(method)
        is_known = how is PayMethod.JSAPI
        payee = self.payees_of(user).find(user.user_id, by) if is_known else None
        payer = payee.account if payee else None
        return start_payment(
            PaymentAsk(user.user_id, amount_fen, by, how, payer, request), ports=self.payment_ports
        )

    def find_payment(self, number: str, user: User) -> Payment:
        """Return a user's own payment; order it if that was interrupted. Raises PaymentNotFound."""
        from redpacket.payments.use_cases.start_payment import find_payment

        return find_payment(
            number, user.user_id, ports=self.payment_ports, payees=self.payees_of(user)
        )

    def list_listed_returns(self, cursor: str | None) -> tuple[list[PaymentReturn], str | None]:
        return self.payment_lists.list_listed_returns(cursor, _RETURNS_PER_PAGE)

    def resolve_return(self, resolution: Resolution, operator_id: str) -> PaymentReturn:
        """Resolve a listed return. Raises PaymentNotFound, VersionConflict, InvalidRequest."""
        from redpacket.payments.use_cases.return_payment import resolve_return

        return resolve_return(resolution, operator_id, ports=self.payment_ports)

    def list_debts(self, cursor: str | None) -> tuple[list[tuple[PaymentRefund, int]], str | None]:
        """Return a page of refunds with debts, and each user's current debt."""
        from redpacket.payments.use_cases.list_debts import list_debts

        return list_debts(
            cursor, _DEBTS_PER_PAGE, lists=self.payment_lists, ledger=self.ledger.repository
        )

    def merchant_of(self, channel: Channel) -> Merchant:
        """Return a gateway's merchant, empty if the gateway is no longer configured."""
        from redpacket.payments.model.provider import Merchant

        gateway = self.providers.gateways_in.get(channel)
        return gateway.merchant if gateway else Merchant("", "")
