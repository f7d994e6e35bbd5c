"""Payments, their returns, and callbacks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from redpacket.containers.container import Container
from redpacket.containers.ledger import LedgerContainer
from redpacket.containers.packets import PacketsContainer
from redpacket.containers.providers import ProvidersContainer
from redpacket.payments.api.parameters import new_payment_id
from redpacket.payments.clients.sqs_notices import read_notice
from redpacket.payments.clients.token_payees import TokenPayees
from redpacket.payments.dynamodb.authorizations import DynamoAuthorizations
from redpacket.payments.dynamodb.lists import DynamoPaymentLists
from redpacket.payments.dynamodb.payees import DynamoPayees
from redpacket.payments.dynamodb.payments import DynamoPayments
from redpacket.payments.dynamodb.provider_pace import DynamoGatewayPace
from redpacket.payments.dynamodb.returns import DynamoReturns
from redpacket.payments.dynamodb.withdrawals import DynamoWithdrawals
from redpacket.payments.ports import (
    PaymentLimits,
    PaymentLists,
    PaymentRepository,
    ReturnRepository,
)
from redpacket.payments.use_cases.handle_callback import CallbackPorts
from redpacket.payments.use_cases.payment_ports import PaymentPorts
from redpacket.payments.withdrawal_ports import AuthorizationRepository, BoundPayees, Payees
from redpacket.platform.user import User

_PAYMENTS_PER_DAY = 100


@dataclass(eq=False)
class PaymentsContainer(Container):
    """Payments, their returns, and callbacks."""

    ledger: LedgerContainer
    packets: PacketsContainer
    providers: ProvidersContainer

    read_notice = staticmethod(read_notice)

    @cached_property
    def payment_book(self) -> PaymentRepository:
        return DynamoPayments(self.dynamo)

    @cached_property
    def return_book(self) -> ReturnRepository:
        return DynamoReturns(self.dynamo)

    @cached_property
    def withdrawal_book(self) -> DynamoWithdrawals:
        return DynamoWithdrawals(self.dynamo)

    @cached_property
    def gateway_pace(self) -> DynamoGatewayPace:
        return DynamoGatewayPace(self.dynamo)

    @cached_property
    def bound_payees(self) -> BoundPayees:
        return DynamoPayees(self.dynamo)

    def payees_of(self, user: User) -> Payees:
        """Return the payout accounts of the request's user."""
        return TokenPayees(user, self.providers.host_accounts, self.bound_payees)

    @cached_property
    def consents(self) -> AuthorizationRepository:
        return DynamoAuthorizations(self.dynamo)

    @cached_property
    def payment_lists(self) -> PaymentLists:
        return DynamoPaymentLists(self.dynamo)

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

    @cached_property
    def callback_ports(self) -> CallbackPorts:
        callbacks, queue = self.providers.callbacks, self.providers.notice_queue
        return CallbackPorts(callbacks, queue, self.payment_book, self.clock)
