"""Ports and settings of payments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from redpacket.packets.ledger_ports import Ledger
from redpacket.packets.ports import PaymentReader
from redpacket.packets.work_list_ports import WorkLists
from redpacket.payments.errors import ChannelUnavailable, ProviderChanged
from redpacket.payments.model.payments import Payment, PaymentReturn
from redpacket.payments.model.provider import NO_MERCHANT
from redpacket.payments.model.provider_name import ProviderName
from redpacket.payments.ports import (
    ComparedDays,
    PaymentLimits,
    PaymentRepository,
    ReturnRepository,
)
from redpacket.payments.provider_ports import PaymentProvider
from redpacket.platform.runtime import Clock, EventLogger


@dataclass(frozen=True, slots=True)
class PaymentPorts:
    """Dependencies of payments; *limits* apply to one user and day."""

    providers: Mapping[ProviderName, PaymentProvider]
    repository: PaymentRepository
    returns: ReturnRepository
    compared: ComparedDays
    ledger: Ledger
    packets: PaymentReader
    work: WorkLists
    clock: Clock
    logger: EventLogger
    new_number: Callable[[], str]
    limits: PaymentLimits

    def provider(self, channel: ProviderName) -> PaymentProvider:
        """Return a provider. Raises ChannelUnavailable."""
        if channel not in self.providers:
            raise ChannelUnavailable
        return self.providers[channel]

    def provider_of(self, row: Payment | PaymentReturn) -> PaymentProvider:
        """Return the provider that has a row's order. Raises ProviderChanged."""
        provider = self.providers.get(row.channel)
        if provider and row.merchant in {NO_MERCHANT, provider.merchant}:
            return provider
        error = ProviderChanged(f"{row.channel} {row.merchant.mch_id} is no longer configured")
        self.logger.failure("payment_mismatched", error, number=row.number)
        raise error
