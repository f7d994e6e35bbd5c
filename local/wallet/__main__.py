"""Serves the wallet until told to stop; it listens to us at `/wallet`."""

import argparse
from pathlib import Path

from local.gateway.deliveries import RETRY_MS
from local.serving import serve
from local.wallet.server import application
from local.wallet.signatures import WalletSecrets
from local.wallet.wallet import Wallet


def main() -> None:
    """Make the secrets where they are missing, and serve."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--port", type=int, required=True)
    arguments.add_argument("--keys", type=Path, required=True, help="holds wallet.json")
    arguments.add_argument("--callback-url", required=True)
    arguments.add_argument("--retry-ms", default=",".join(map(str, RETRY_MS)))
    given = arguments.parse_args()
    retry_ms = tuple(int(wait) for wait in given.retry_ms.split(",") if wait)
    serve(
        application(Wallet(WalletSecrets.of(given.keys), given.callback_url, retry_ms)), given.port
    )


if __name__ == "__main__":
    main()
