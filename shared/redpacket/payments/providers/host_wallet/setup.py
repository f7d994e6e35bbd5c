"""Host's wallet, built from this process's settings."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from redpacket.payments.ports import Provider
from redpacket.payments.providers.host_wallet.settings import HostWalletSettings

if TYPE_CHECKING:
    from redpacket.payments.ports import CallbackVerifier, PaymentProvider, PayoutProvider
    from redpacket.payments.providers.host_wallet.client import HostClient


class HostWallet(Provider[HostWalletSettings]):
    """Payments, transfers, and callbacks through the host's wallet."""

    settings_type = HostWalletSettings

    @cached_property
    def payments(self) -> PaymentProvider | None:
        if not self.settings.host_wallet_url:
            return None
        from redpacket.payments.providers.host_wallet.provider import HostIn

        return HostIn(self._client, self.environment.accounts("host"), self.settings.unit.name)

    @cached_property
    def payouts(self) -> PayoutProvider | None:
        if not self.settings.host_wallet_url:
            return None
        from redpacket.payments.providers.host_wallet.provider import HostOut

        return HostOut(self._client, self.environment.accounts("host"), self.settings.unit.name)

    @cached_property
    def callbacks(self) -> CallbackVerifier | None:
        if not self.settings.host_result_secret:
            return None
        from redpacket.payments.providers.host_wallet.client import HostResults
        from redpacket.payments.providers.host_wallet.provider import HostCallbacks

        return HostCallbacks(HostResults(self.settings.host_result_secret))

    @cached_property
    def _client(self) -> HostClient:
        from redpacket.payments.providers.host_wallet.client import HostClient, HostKeys

        keys = HostKeys.of(self.environment.secret(self.settings.host_wallet_secret_arn))
        return HostClient(keys, self.environment.http(self.settings.host_wallet_url))
