"""Serves a provider, like `python -m local.gateways wechat --port N --keys FOLDER`."""

import argparse
from pathlib import Path

from local.gateways.deliveries import RETRY_MS
from local.gateways.host import Host, WalletSecrets
from local.gateways.server import Provider, application
from local.gateways.wechat import WeChat
from local.gateways.wechat_wire import GatewayKeys
from local.ports import HOST
from local.serving import serve


def main() -> None:
    """Make the keys where they are missing, and serve."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("provider", choices=["wechat", "host"])
    arguments.add_argument("--port", type=int, required=True)
    arguments.add_argument("--keys", type=Path, required=True, help="for merchant or wallet.json")
    arguments.add_argument("--callback-url", default="", help="where a host tells results")
    arguments.add_argument("--retry-ms", default=",".join(map(str, RETRY_MS)))
    given = arguments.parse_args()
    retry_ms = tuple(int(wait) for wait in given.retry_ms.split(",") if wait)
    provider: Provider
    if given.provider == "wechat":
        url = f"http://{HOST}:{given.port}"
        provider = WeChat(GatewayKeys.of(given.keys), url, retry_ms)
    else:
        provider = Host(WalletSecrets.of(given.keys), given.callback_url, retry_ms)
    serve(application(provider), given.port)


if __name__ == "__main__":
    main()
