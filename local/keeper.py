"""Runner of one command, which ends it when the process that started it ends.

The parent holds the other end of our standard input and never writes to it. When the parent closes
that end, or dies, the runner reads the end of the file and ends the command with all processes that
it started.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

# Seconds for a command to stop before it is killed; Valkey and the emulator need well under one.
GRACE_S = 5.0


def main(pid_file: str, *command: str) -> int:
    """Run *command* to its end and return its exit code; *pid_file* gets its process id."""
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
