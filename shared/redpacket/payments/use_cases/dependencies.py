"""Dependencies and settings of payments, withdrawals and consents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from redpacket.payments.errors import ProviderChanged
from redpacket.payments.model.provider import NO_MERCHANT
from redpacket.payments.ports import required

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from redpacket.packets.ports import Ledger, PacketReader, WorkLists
    from redpacket.payments.dynamodb.authorizations import DynamoAuthorizations
    from redpacket.payments.dynamodb.payments import DynamoPayments
    from redpacket.payments.dynamodb.provider_pace import DynamoProviderPace
    from redpacket.payments.dynamodb.returns import DynamoReturns
    from redpacket.payments.dynamodb.withdrawals import DynamoWithdrawals
    from redpacket.payments.model.payments import Payment, PaymentReturn
    from redpacket.payments.model.provider_name import ProviderName
    from redpacket.payments.model.withdrawals import Withdrawal, WithdrawalLimits
    from redpacket.payments.ports import Authorizations, Payees, PaymentProvider, PayoutProvider
    from redpacket.payments.use_cases.rate_limiter import Pace
    from redpacket.platform.runtime import Clock, EventLogger


@dataclass(frozen=True, slots=True)
class PaymentPorts:
    """Dependencies of payments; a user may start *per_day_max*, including paid ones."""

    providers: Mapping[ProviderName, PaymentProvider]
    repository: DynamoPayments
    returns: DynamoReturns
    compared: DynamoProviderPace
    ledger: Ledger
    packets: PacketReader
    work: WorkLists
    clock: Clock
    logger: EventLogger
    new_number: Callable[[], str]
    per_day_max: int

    def provider(self, channel: ProviderName) -> PaymentProvider:
        """Return a provider. Raises ChannelUnavailable."""
        return required(self.providers, channel)

    def provider_of(self, row: Payment | PaymentReturn) -> PaymentProvider:
        """Return the provider that has a row's order. Raises ProviderChanged."""
        provider = self.providers.get(row.channel)
        if provider and row.merchant in {NO_MERCHANT, provider.merchant}:
            return provider
        error = ProviderChanged(f"{row.channel} {row.merchant.mch_id} is no longer configured")
        self.logger.failure("payment_mismatched", error, number=row.number)
        raise error


@dataclass(frozen=True, slots=True)
class WithdrawalSettings:
    """Limits agreed with a provider.

    Balances of at least *above_fen* are paid out automatically; 0 disables this. *begins_within_ms*
    is the maximum wait for a dispatch.
    """

    fen_min: int
    fen_max: int
    limits: WithdrawalLimits
    above_fen: int = 0
    begins_within_ms: int = 0


@dataclass(frozen=True, slots=True)
class WithdrawalPorts:
    """Dependencies of withdrawals; *new_id* returns 30 characters."""

    providers: Mapping[ProviderName, PayoutProvider]
    paces: Mapping[ProviderName, Pace]
    repository: DynamoWithdrawals
    transfers: DynamoWithdrawals
    consents: DynamoAuthorizations
    clock: Clock
    logger: EventLogger
    new_id: Callable[[], str]
    settings: WithdrawalSettings

    def provider(self, channel: ProviderName) -> PayoutProvider:
        """Return a provider. Raises ChannelUnavailable."""
        return required(self.providers, channel)

    def provider_of(self, row: Withdrawal) -> PayoutProvider:
        """Return the provider that made a withdrawal's transfers. Raises ProviderChanged."""
        provider = self.providers.get(row.channel)
        if provider and row.merchant in {NO_MERCHANT, provider.merchant}:
            return provider
        error = ProviderChanged(f"{row.channel} {row.merchant.mch_id} is no longer configured")
        self.logger.failure("transfer_mismatched", error, transfer_no=row.transfer_no)
        raise error


@dataclass(frozen=True, slots=True)
class AuthorizationPorts:
    """Dependencies of authorizations; *new_number* returns 32 characters."""

    providers: Mapping[ProviderName, Authorizations]
    repository: DynamoAuthorizations
    payees: Payees
    clock: Clock
    logger: EventLogger
    new_number: Callable[[], str]

    def provider(self, channel: ProviderName) -> Authorizations:
        """Return a provider. Raises ChannelUnavailable."""
        return required(self.providers, channel)
