"""Serves the beacon until told to stop: `python -m local.beacon --port N --key FILE`."""

import argparse
import time
from pathlib import Path

from local.beacon.chain import LocalChain
from local.beacon.server import application
from local.serving import serve


def main() -> None:
    """Make the key where it is missing, and serve."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--port", type=int, required=True)
    arguments.add_argument("--key", type=Path, required=True)
    given = arguments.parse_args()
    serve(application(LocalChain.of(given.key, int(time.time()))), given.port)


if __name__ == "__main__":
    main()
