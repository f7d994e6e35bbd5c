"""Ports and settings of withdrawals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from redpacket.payments.errors import ChannelUnavailable, ProviderChanged
from redpacket.payments.model.provider import NO_MERCHANT
from redpacket.payments.model.provider_name import ProviderName
from redpacket.payments.model.withdrawals import Withdrawal
from redpacket.payments.ports.dependencies import (
    AuthorizationRepository,
    TransferRepository,
    WithdrawalLimits,
    WithdrawalRepository,
)
from redpacket.payments.ports.providers import PayoutProvider
from redpacket.payments.use_cases.rate_limiter import Pace
from redpacket.platform.runtime import Clock, EventLogger


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
    repository: WithdrawalRepository
    transfers: TransferRepository
    consents: AuthorizationRepository
    clock: Clock
    logger: EventLogger
    new_id: Callable[[], str]
    settings: WithdrawalSettings

    def provider(self, channel: ProviderName) -> PayoutProvider:
        """Return a provider. Raises ChannelUnavailable."""
        if channel not in self.providers:
            raise ChannelUnavailable
        return self.providers[channel]

    def provider_of(self, row: Withdrawal) -> PayoutProvider:
        """Return the provider that made a withdrawal's transfers. Raises ProviderChanged."""
        provider = self.providers.get(row.channel)
        if provider and row.merchant in {NO_MERCHANT, provider.merchant}:
            return provider
        error = ProviderChanged(f"{row.channel} {row.merchant.mch_id} is no longer configured")
        self.logger.failure("transfer_mismatched", error, transfer_no=row.transfer_no)
        raise error
