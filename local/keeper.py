"""Keeper that runs one command, and ends this command when the keeper's parent process ends.

The parent holds the other end of the keeper's standard input and never writes to it. When the
parent closes that end, or dies, the keeper reads end-of-file and ends the command with all
processes that the command started.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

# Seconds between SIGTERM and SIGKILL; Valkey and the emulator stop in well under one second.
GRACE_S = 5.0


def main(pid_file: str, *command: str) -> int:
    """Run *command*, write its process id to *pid_file*, and return its exit code."""
    # Start a new session: Ctrl-C must reach only the parent, which stops everything in order.
    listener = os.environ.get("LISTEN_FD")
    child = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        pass_fds=[int(listener)] if listener else [],
    )
    Path(pid_file).write_text(str(child.pid))
    signal.signal(signal.SIGTERM, lambda *_: _signal_group(child.pid, signal.SIGTERM))
    threading.Thread(target=_end_with_asker, args=[child], daemon=True).start()
    try:
        return child.wait()
    finally:
        # The command has ended, so end the rest of its group.
        _signal_group(child.pid, signal.SIGKILL)


def _end_with_asker(child: subprocess.Popen[bytes]) -> None:
    while os.read(sys.stdin.fileno(), 1024):
        pass
    _signal_group(child.pid, signal.SIGTERM)
    try:
        child.wait(GRACE_S)
    except subprocess.TimeoutExpired:
        _signal_group(child.pid, signal.SIGKILL)


def _signal_group(group: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, number)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
