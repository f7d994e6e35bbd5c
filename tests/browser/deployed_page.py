"""Server for the page, with the configuration of a deployment that has a third-party issuer.

python -m tests.browser.deployed_page PORT EMULATOR_PORT API_ID ISSUER
"""

import sys

import uvicorn

from local import places
from local.front import Proxy
from local.page import Page, with_issuer
from local.ports import HOST
from local.publish import configuration


def main() -> None:
    """Serve until the process is stopped."""
    port, emulator_port, api_id, issuer = sys.argv[1:]
    config = configuration({}, {"JwtIssuer": issuer, "PageClientId": "page"}, "eu-central-1")
    proxy = Proxy(int(emulator_port), f"/_aws/execute-api/{api_id}/$default")
    page = with_issuer(Page(places.PAGE, proxy, config), issuer)
    uvicorn.run(
        page,
        host=HOST,
        port=int(port),
        log_level="critical",
        lifespan="off",
        timeout_graceful_shutdown=1,
    )


if __name__ == "__main__":
    main()
