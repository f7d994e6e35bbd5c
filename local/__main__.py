"""Entry of `python -m local COMMAND`, which the Makefile calls."""

import sys

from local import commands, demo
from local.errors import StackError

COMMANDS = {
    "run": commands.run,
    "serve": commands.serve,
    "up": commands.up,
    "down": commands.down,
    "demo": demo.demo,
}


def main(arguments: list[str]) -> int:
    """Run one command and return the exit code; errors are told in one sentence."""
    if len(arguments) != 1 or arguments[0] not in COMMANDS:
        print(f"usage: python -m local {'|'.join(COMMANDS)}", file=sys.stderr)
        return 2
    commands.end_on_signals()
    try:
        COMMANDS[arguments[0]]()
    except StackError as error:
        print(f"{arguments[0]}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
