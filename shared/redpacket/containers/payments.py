"""Container for payments and their returns, withdrawals, linked accounts, and callbacks."""

from dataclasses import dataclass
from functools import cached_property

from redpacket.containers.container import Container, on_dynamo
from redpacket.containers.packets import PacketsContainer
from redpacket.containers.providers import ProvidersContainer
from redpacket.operations.model.limits import PROVIDER_CALLS
from redpacket.operations.use_cases.limit_failures import FailureBudget
from redpacket.packets.api.packet_ids import new_payment_id
from redpacket.payments.clients.sqs_notices import read_notice
from redpacket.payments.clients.token_payees import TokenPayees
from redpacket.payments.dynamodb.authorizations import DynamoAuthorizations
from redpacket.payments.dynamodb.lists import DynamoPaymentLists
from redpacket.payments.dynamodb.payees import DynamoPayees
from redpacket.payments.dynamodb.payments import DynamoPayments
from redpacket.payments.dynamodb.provider_pace import DynamoProviderPace
from redpacket.payments.dynamodb.returns import DynamoReturns
from redpacket.payments.dynamodb.withdrawals import DynamoWithdrawals
from redpacket.payments.model.withdrawals import WITHDRAWAL_FEN_MIN, WithdrawalLimits
from redpacket.payments.ports import Payees
from redpacket.payments.use_cases import dependencies
from redpacket.payments.use_cases.bind_account import LoginPorts
from redpacket.payments.use_cases.handle_callback import CallbackPorts
from redpacket.payments.use_cases.rate_limiter import NightWindow, Pace
from redpacket.platform.user import User

_PAYMENTS_PER_DAY = 100
_WITHDRAWALS_PER_DAY = 10
_DISPATCHED_EVERY_MS = 60_000
"""Milliseconds between runs of the schedule TransferEveryMinute in template.yaml."""


@dataclass(eq=False)
class PaymentsContainer(Container):
    packets: PacketsContainer
    providers: ProvidersContainer

    read_notice = staticmethod(read_notice)

    payment_repository = on_dynamo(DynamoPayments)
    withdrawal_repository = on_dynamo(DynamoWithdrawals)
    provider_pace = on_dynamo(DynamoProviderPace)
    bound_payees = on_dynamo(DynamoPayees)

    def payees_of(self, user: User) -> Payees:
        """Return the payout accounts of *user*, who made the request."""
        return TokenPayees(user, self.providers.host_accounts, self.bound_payees)

    consents = on_dynamo(DynamoAuthorizations)
    payment_lists = on_dynamo(DynamoPaymentLists)

    @cached_property
    def payment_ports(self) -> dependencies.PaymentPorts:
        return dependencies.PaymentPorts(
            providers=self.providers.providers_in,
            repository=self.payment_repository,
            returns=DynamoReturns(self.dynamo),
            compared=self.provider_pace,
            ledger=self.packets.ledger,
            packets=self.packets.repository,
            pictures=self.packets.pictures,
            work=self.packets.work_lists(0, 1),
            clock=self.clock,
            logger=self.logger,
            new_number=new_payment_id,
            per_day_max=_PAYMENTS_PER_DAY,
            prompts=self.providers.prompts,
            fix_unit=self.packets.operations.switch_store.fix_unit,
        )

    @cached_property
    def callback_ports(self) -> CallbackPorts:
        callbacks, queue = self.providers.callbacks, self.providers.notice_queue
        return CallbackPorts(callbacks, queue, self.payment_repository, self.clock)

    @cached_property
    def withdrawal_ports(self) -> dependencies.WithdrawalPorts:
        per_minute = self.settings.bills_per_minute
        night = NightWindow.of(self.settings.night_window)
        return dependencies.WithdrawalPorts(
            providers=self.providers.providers_out,
            paces={
                channel: Pace(channel, per_minute, self.provider_pace, self.clock, night)
                for channel in self.providers.providers_out
            },
            repository=self.withdrawal_repository,
            consents=self.consents,
            clock=self.clock,
            logger=self.logger,
            prompts=self.providers.prompts,
            settings=dependencies.WithdrawalSettings(
                WITHDRAWAL_FEN_MIN,
                self.settings.withdrawal_fen_max,
                WithdrawalLimits(_WITHDRAWALS_PER_DAY, self.settings.withdrawal_fen_per_day),
                above_fen=self.settings.withdraw_above_fen,
                begins_within_ms=_DISPATCHED_EVERY_MS,
            ),
        )

    @cached_property
    def authorization_ports(self) -> dependencies.AuthorizationPorts:
        return dependencies.AuthorizationPorts(
            providers=self.providers.consent_providers,
            repository=self.consents,
            payees=self.bound_payees,
            clock=self.clock,
            logger=self.logger,
            new_number=new_payment_id,
            prompts=self.providers.prompts,
            asks=FailureBudget(PROVIDER_CALLS, self.clock),
        )

    @cached_property
    def login_ports(self) -> LoginPorts:
        return LoginPorts(
            logins=self.providers.logins,
            issuers=self.providers.by_provider(lambda provider: provider.token_issuer),
            payees=self.bound_payees,
            clock=self.clock,
            logger=self.logger,
            first_wait_ms=self.settings.first_link_wait_ms,
            wrong_codes=FailureBudget(PROVIDER_CALLS, self.clock),
        )
