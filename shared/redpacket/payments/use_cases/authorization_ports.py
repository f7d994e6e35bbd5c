"""Ports of payout authorizations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from redpacket.payments.errors import ChannelUnavailable
from redpacket.payments.login_ports import Authorizations
from redpacket.payments.model.provider_name import ProviderName
from redpacket.payments.withdrawal_ports import AuthorizationRepository, Payees
from redpacket.platform.runtime import Clock, EventLogger


@dataclass(frozen=True, slots=True)
class AuthorizationPorts:
    """Dependencies of authorizations; *new_number* returns 32 characters."""

    providers: Mapping[ProviderName, Authorizations]
    repository: AuthorizationRepository
    payees: Payees
    clock: Clock
    logger: EventLogger
    new_number: Callable[[], str]

    def provider(self, channel: ProviderName) -> Authorizations:
        """Return a provider. Raises ChannelUnavailable."""
        if channel not in self.providers:
            raise ChannelUnavailable
        return self.providers[channel]
