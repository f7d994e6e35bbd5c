"""Serves the receiver until told to stop; webhooks point to `/events/NAME`."""

import argparse

import uvicorn

from local.ports import HOST
from local.receiver.server import application


def main() -> None:
    """Serve."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--port", type=int, required=True)
    given = arguments.parse_args()
    uvicorn.run(
        application(),
        host=HOST,
        port=given.port,
        log_level="critical",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=1,
    )


if __name__ == "__main__":
    main()
