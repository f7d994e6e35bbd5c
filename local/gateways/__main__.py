"""Command for a simulated provider: `python -m local.gateways NAME --port N --keys FOLDER`."""

import argparse
from pathlib import Path

from local.gateways.deliveries import RETRY_MS
from local.gateways.server import application
from local.gateways.setups import Place, setups
from local.ports import HOST
from local.serving import serve


def main() -> None:
    """Make the keys if they are missing, and serve."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("provider", choices=setups())
    arguments.add_argument("--port", type=int, required=True)
    arguments.add_argument(
        "--keys", type=Path, required=True, help="folder of merchant.json or wallet.json"
    )
    arguments.add_argument(
        "--callback-url", default="", help="URL that receives a provider's results"
    )
    arguments.add_argument("--retry-ms", default=",".join(map(str, RETRY_MS)))
    given = arguments.parse_args()
    retry_ms = tuple(int(wait) for wait in given.retry_ms.split(",") if wait)
    place = Place(given.keys, f"http://{HOST}:{given.port}", given.callback_url, retry_ms)
    serve(application(setups()[given.provider].simulator(place)), given.port)


if __name__ == "__main__":
    main()
