"""The host's wallet in a stack's parameters."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from local.gateways.setups import Place, Setup

if TYPE_CHECKING:
    from local.gateways.host.simulator import Host


class HostSetup(Setup):
    """Secrets and URL of the wallet."""

    program = "wallet"
    port = 18444
    enabled_by = "HostWalletUrl"

    def simulator(self, place: Place) -> Host:
        """Return the wallet."""
        from local.gateways.host.simulator import Host, WalletSecrets

        return Host(WalletSecrets.of(place.folder), place.callback_url, place.retry_ms)

    def secrets(self, state_dir: Path) -> dict[str, Path]:
        """Return the wallet's two secrets."""
        return {"HostWalletSecretArn": state_dir / "payments" / "wallet.json"}

    def parameters(self, _state_dir: Path, url: str) -> dict[str, str]:
        """Return the wallet's URL."""
        return {"HostWalletUrl": f"{url}/wallet"}


SETUP = HostSetup()
