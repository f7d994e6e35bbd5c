"""Payments and their returns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from redpacket.containers.container import Container
from redpacket.containers.ledger import LedgerContainer
from redpacket.containers.packets import PacketsContainer
from redpacket.containers.providers import ProvidersContainer
from redpacket.containers.users import UsersContainer
from redpacket.payments.api.parameters import new_payment_id
from redpacket.payments.clients.token_payees import TokenPayees
from redpacket.payments.dynamodb.authorizations import DynamoAuthorizations
from redpacket.payments.dynamodb.lists import DynamoPaymentLists
from redpacket.payments.dynamodb.payees import DynamoPayees
from redpacket.payments.dynamodb.payments import DynamoPayments
from redpacket.payments.dynamodb.provider_pace import DynamoGatewayPace
from redpacket.payments.dynamodb.returns import DynamoReturns
from redpacket.payments.dynamodb.withdrawals import DynamoWithdrawals
from redpacket.payments.model.payments import Payment, PaymentRefund, PaymentReturn, Resolution
from redpacket.payments.model.provider import Merchant, PayMethod
from redpacket.payments.model.provider_name import ProviderName
from redpacket.payments.ports import (
    PaymentLimits,
    PaymentLists,
    PaymentRepository,
    ReturnRepository,
)
from redpacket.payments.use_cases.list_debts import list_debts
from redpacket.payments.use_cases.payment_ports import PaymentPorts
from redpacket.payments.use_cases.return_payment import resolve_return
from redpacket.payments.use_cases.start_payment import PaymentAsk, find_payment, start_payment
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
        return DynamoPayments(
            self.dynamo,
            self.settings.payments_table,
            self.settings.accounts_table,
            self.settings.packets_table,
        )

    @cached_property
    def return_book(self) -> ReturnRepository:
        return DynamoReturns(
            self.dynamo,
            self.settings.payments_table,
            self.settings.accounts_table,
            self.settings.journal_table,
        )

    @cached_property
    def withdrawal_book(self) -> WithdrawalRepository:
        settings = self.settings
        return DynamoWithdrawals(self.dynamo, settings.payments_table, settings.accounts_table)

    @cached_property
    def gateway_pace(self) -> DynamoGatewayPace:
        return DynamoGatewayPace(self.dynamo, self.settings.payments_table)

    @cached_property
    def bound_payees(self) -> BoundPayees:
        return DynamoPayees(self.dynamo, self.settings.payments_table)

    def payees_of(self, user: User) -> Payees:
        """Return the payout accounts of the request's user."""
        return TokenPayees(user, self.providers.host_accounts, self.bound_payees)

    @cached_property
    def consents(self) -> AuthorizationRepository:
        return DynamoAuthorizations(self.dynamo, self.settings.payments_table)

    @cached_property
    def payment_lists(self) -> PaymentLists:
        return DynamoPaymentLists(self.dynamo, self.settings.payments_table)

    @cached_property
    def payment_ports(self) -> PaymentPorts:
        return PaymentPorts(
            gateways=self.providers.gateways_in,
            book=self.payment_book,
            returns=self.return_book,
            compared=self.gateway_pace,
            ledger=self.ledger.repository,
            packets=self.packets.repository,
            work=self.packets.work_lists(0, 1),
            clock=self.clock,
            logger=self.logger,
            new_number=new_payment_id,
            limits=PaymentLimits(_PAYMENTS_PER_DAY),
        )

    def start_payment(
        self, user: User, amount_fen: int, channel: str, method: str, request: Request
    ) -> Payment:
        """Start a payment into a user's account, once for each request."""
        # An event will report the payment under the host's user id.
        self.users.profiles.note(user, self.clock.now_ms())
        by, how = ProviderName(channel), PayMethod(method)
        is_known = how is PayMethod.JSAPI
        payee = self.payees_of(user).find(user.user_id, by) if is_known else None
        payer = payee.account if payee else None
        return start_payment(
            PaymentAsk(user.user_id, amount_fen, by, how, payer, request), ports=self.payment_ports
        )

    def find_payment(self, number: str, user: User) -> Payment:
        """Return a user's own payment; order it if that was interrupted. Raises PaymentNotFound."""
        payees = self.payees_of(user)
        return find_payment(number, user.user_id, ports=self.payment_ports, payees=payees)

    def list_listed_returns(self, cursor: str | None) -> tuple[list[PaymentReturn], str | None]:
        return self.payment_lists.list_listed_returns(cursor, _RETURNS_PER_PAGE)

    def resolve_return(self, resolution: Resolution, operator_id: str) -> PaymentReturn:
        """Resolve a listed return. Raises PaymentNotFound, VersionConflict, InvalidRequest."""
        return resolve_return(resolution, operator_id, ports=self.payment_ports)

    def list_debts(self, cursor: str | None) -> tuple[list[tuple[PaymentRefund, int]], str | None]:
        """Return a page of refunds with debts, and each user's current debt."""
        lists, ledger = self.payment_lists, self.ledger.repository
        return list_debts(cursor, _DEBTS_PER_PAGE, lists=lists, ledger=ledger)

    def merchant_of(self, channel: ProviderName) -> Merchant:
        """Return a gateway's merchant, empty if the gateway is no longer configured."""
        gateway = self.providers.gateways_in.get(channel)
        return gateway.merchant if gateway else Merchant("", "")
