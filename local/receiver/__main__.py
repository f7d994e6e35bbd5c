"""Command for the simulated receiver; webhooks call `/events/NAME`."""

import argparse

from local.receiver.server import application
from local.serving import serve


def main() -> None:
    """Serve."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--port", type=int, required=True)
    given = arguments.parse_args()
    serve(application(), given.port)


if __name__ == "__main__":
    main()
