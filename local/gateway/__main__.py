"""Serves the gateway until told to stop: `python -m local.gateway --port N --keys FOLDER`."""

import argparse
from pathlib import Path

from local.gateway.deliveries import RETRY_MS
from local.gateway.gateway import Gateway
from local.gateway.keys import GatewayKeys
from local.gateway.server import application
from local.ports import HOST
from local.serving import serve


def main() -> None:
    """Make the keys where they are missing, and serve."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--port", type=int, required=True)
    arguments.add_argument("--keys", type=Path, required=True, help="holds merchant.json")
    arguments.add_argument("--retry-ms", default=",".join(map(str, RETRY_MS)))
    given = arguments.parse_args()
    retry_ms = tuple(int(wait) for wait in given.retry_ms.split(",") if wait)
    gateway = Gateway(GatewayKeys.of(given.keys), f"http://{HOST}:{given.port}", retry_ms)
    serve(application(gateway), given.port)


if __name__ == "__main__":
    main()
