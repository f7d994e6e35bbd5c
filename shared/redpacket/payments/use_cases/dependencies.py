"""Dependencies and settings of payments, withdrawals, and consents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from redpacket.payments.errors import ProviderChanged
from redpacket.payments.model.provider import NO_MERCHANT
from redpacket.payments.ports import Authorizations, PaymentProvider, PayoutProvider, required

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from redpacket.ledger.provider_name import ProviderName
    from redpacket.operations.use_cases.limit_failures import FailureBudget
    from redpacket.packets.ports import Ledger, PacketReader, Pictures, WorkLists
    from redpacket.payments.dynamodb.authorizations import DynamoAuthorizations
    from redpacket.payments.dynamodb.payments import DynamoPayments
    from redpacket.payments.dynamodb.provider_pace import DynamoProviderPace
    from redpacket.payments.dynamodb.returns import DynamoReturns
    from redpacket.payments.dynamodb.withdrawals import DynamoWithdrawals
    from redpacket.payments.model.payments import Payment, PaymentReturn
    from redpacket.payments.model.withdrawals import Withdrawal, WithdrawalLimits
    from redpacket.payments.ports import Payees
    from redpacket.payments.sealed_accounts import Accounts
    from redpacket.payments.use_cases.rate_limiter import Pace
    from redpacket.platform.runtime import Clock, EventLogger

Part = TypeVar("Part")
Acting = TypeVar("Acting", bound=PaymentProvider | PayoutProvider)


@dataclass(frozen=True, slots=True, kw_only=True)
class _ProviderPorts(Generic[Part]):
    providers: Mapping[ProviderName, Part]
    clock: Clock
    logger: EventLogger

    def provider(self, channel: ProviderName) -> Part:
        """Return a provider. Raises ChannelUnavailable."""
        return required(self.providers, channel)


@dataclass(frozen=True, slots=True, kw_only=True)
class _MerchantPorts(_ProviderPorts[Acting]):
    def _acting(
        self, row: Payment | PaymentReturn | Withdrawal, event: str, **named: str
    ) -> Acting:
        provider = self.providers.get(row.channel)
        if provider and row.merchant in {NO_MERCHANT, provider.merchant}:
            return provider
        error = ProviderChanged(f"{row.channel} {row.merchant.mch_id} is no longer configured")
        self.logger.failure(event, error, **named)
        raise error


@dataclass(frozen=True, slots=True, kw_only=True)
class PaymentPorts(_MerchantPorts[PaymentProvider]):
    """Dependencies of payments; *per_day_max* limits the payments that a user starts per day.

    *prompts* seals each prompt for its payment, so a copy in another row is not shown.
    """

    repository: DynamoPayments
    returns: DynamoReturns
    compared: DynamoProviderPace
    ledger: Ledger
    packets: PacketReader
    pictures: Pictures
    work: WorkLists
    new_number: Callable[[], str]
    per_day_max: int
    prompts: Accounts
    fix_unit: Callable[[], None]

    def provider_of(self, row: Payment | PaymentReturn) -> PaymentProvider:
        """Return the provider that has a row's order. Raises ProviderChanged."""
        return self._acting(row, "payment_mismatched", number=row.number)


@dataclass(frozen=True, slots=True)
class WithdrawalSettings:
    """Limits for withdrawals, and settings for payouts.

    Balances of at least *above_fen* are paid out automatically; 0 disables this. *begins_within_ms*
    is the maximum wait for a dispatch.
    """

    fen_min: int
    fen_max: int
    limits: WithdrawalLimits
    above_fen: int = 0
    begins_within_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class WithdrawalPorts(_MerchantPorts[PayoutProvider]):
    """Dependencies of withdrawals."""

    paces: Mapping[ProviderName, Pace]
    repository: DynamoWithdrawals
    consents: DynamoAuthorizations
    settings: WithdrawalSettings
    prompts: Accounts

    def provider_of(self, row: Withdrawal) -> PayoutProvider:
        """Return the provider for a withdrawal's transfers. Raises ProviderChanged."""
        return self._acting(row, "transfer_mismatched", transfer_no=row.transfer_no)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorizationPorts(_ProviderPorts[Authorizations]):
    """Dependencies of authorizations; *asks* limits the provider calls that each user causes.

    *new_number* returns 32 characters.
    """

    repository: DynamoAuthorizations
    asks: FailureBudget
    payees: Payees
    new_number: Callable[[], str]
    prompts: Accounts
