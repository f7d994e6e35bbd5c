"""Command for the simulators: `python -m local.chat --port N --secret FILE --callback-url URL`."""

import argparse
import json
from pathlib import Path

from local.chat.server import application, both
from local.serving import serve


def main() -> None:
    """Serve."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--port", type=int, required=True)
    arguments.add_argument("--secret", type=Path, required=True, help="JSON of the chat secret")
    arguments.add_argument("--callback-url", required=True, help="address of the chat function")
    given = arguments.parse_args()
    secret = json.loads(given.secret.read_text())
    serve(application(both(secret, given.callback_url)), given.port)


if __name__ == "__main__":
    main()
