"""Environment variables of the host's wallet."""

from __future__ import annotations

from redpacket.platform.settings import Settings, Variable, resolved


class HostWalletSettings(Settings):
    """Settings of the host's wallet."""

    host_wallet_url = Variable("HOST_WALLET_URL", str, default="")
    """URL of the host's wallet; an empty value disables the wallet."""
    host_wallet_secret_arn = Variable("HOST_WALLET_SECRET_ARN", str)
    """ARN of the secret that contains the two signing secrets."""
    host_result_secret = Variable("HOST_RESULT_SECRET", resolved, default="")
    """Secret that verifies the wallet's callbacks."""
