"""Setup of the host's wallet: a stack's parameters."""

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

        return Host(
            WalletSecrets.of(place.folder / "wallet.json"), place.callback_url, place.retry_ms
        )

    def secrets(self, state_dir: Path) -> dict[str, Path]:
        """Return the file with the wallet's two secrets."""
        return {"HostWalletSecretArn": state_dir / "payments" / "wallet.json"}

    def parameters(self, _state_dir: Path, url: str) -> dict[str, str]:
        """Return the wallet's URL."""
        return {"HostWalletUrl": f"{url}/wallet"}


class OwnWallet(HostSetup):
    """Developer's own wallet at *url*, with the secrets in the file *secret*."""

    is_simulated = False

    def __init__(self, url: str, secret: Path) -> None:
        self._url, self._secret = url, secret

    def secrets(self, _state_dir: Path) -> dict[str, Path]:
        """Return the file with the secrets, and create it if it is missing."""
        from local.gateways.host.simulator import WalletSecrets

        WalletSecrets.of(self._secret)
        return {"HostWalletSecretArn": self._secret}

    def parameters(self, _state_dir: Path, _url: str) -> dict[str, str]:
        """Return the wallet's URL."""
        return {"HostWalletUrl": self._url}


SETUP = HostSetup()
