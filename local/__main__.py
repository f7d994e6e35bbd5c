"""Entry point for `python -m local COMMAND`, which the Makefile calls."""

import os
import signal
import sys

INTERRUPTED = 128 + signal.SIGINT


def main(arguments: list[str]) -> int:
    """Run one command and return its exit code; print an error as one sentence."""
    # Interrupted imports need neither a cleanup nor a stack trace. Ctrl-C ends `make run` normally;
    # for any other command, it is a failure.
    early = 0 if arguments == ["run"] else INTERRUPTED
    signal.signal(signal.SIGINT, lambda *_: os._exit(early))
    from local import commands, demo, demo_site, drill
    from local.errors import StackError

    names = {
        "run": commands.run,
        "serve": commands.serve,
        "up": commands.up,
        "down": commands.down,
        "drill": drill.drill,
        "demo": demo.demo,
        "demo-site": demo_site.serve,
    }
    if len(arguments) != 1 or arguments[0] not in names:
        print(f"usage: python -m local {'|'.join(names)}", file=sys.stderr)
        return 2
    commands.end_on_signals()
    try:
        names[arguments[0]]()
    except StackError as error:
        print(f"{arguments[0]}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
