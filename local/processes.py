"""Programs of a stack, none of which can outlive the stack."""

import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Self

from local.errors import StackError

# Seconds to wait for the keeper: longer than the grace period that it gives a hanging command.
STOP_TIMEOUT_S = 10.0
# Number of log lines to show if a program fails.
LOG_LINES_SHOWN = 15

KEEPER = Path(__file__).with_name("keeper.py")


class Process:
    """Program with its log file, and the keeper that ends the program when this process ends."""

    def __init__(
        self,
        name: str,
        command: list[str],
        *,
        log: Path,
        env: Mapping[str, str],
        cwd: Path,
        listener: socket.socket | None = None,
    ) -> None:
        """Start *command*, which serves the socket *listener* if given (`local/serving.py`)."""
        self.name = name
        self.log = log
        self._pid_file = log.with_suffix(".pid")
        self._pid_file.unlink(missing_ok=True)
        with log.open("ab") as output:
            # With -I -S, the keeper starts in 20 ms; it needs only the standard library.
            self._keeper = subprocess.Popen(
                [sys.executable, "-I", "-S", str(KEEPER), str(self._pid_file), *command],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env=dict(env) | ({"LISTEN_FD": str(listener.fileno())} if listener else {}),
                cwd=cwd,
                pass_fds=[listener.fileno()] if listener else [],
            )
        if listener:
            listener.close()  # Otherwise the port would stay open after the program ends.

    @property
    def pid(self) -> int:
        """Wait until the keeper has started the program, and return the program's process id."""
        while not (pid := self._pid_file.read_text() if self._pid_file.exists() else ""):
            if self._keeper.poll() is not None:
                raise StackError(f"{self.name} did not start: read {self.log}{self.log_tail()}")
            time.sleep(0.02)
        return int(pid)

    def wait(self, timeout_s: float | None = None) -> int | None:
        """Wait for the program to end and return its exit code, or None after *timeout_s*."""
        try:
            return self._keeper.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None

    def wait_until(self, is_ready: Callable[[], bool], *, timeout_s: float) -> Self:
        """Wait for *is_ready*. Raises StackError if the program ends first or takes too long."""
        deadline = time.monotonic() + timeout_s
        while not is_ready():
            if self._keeper.poll() is not None:
                raise StackError(
                    f"{self.name} ended before it was ready: read {self.log}{self.log_tail()}"
                )
            if time.monotonic() > deadline:
                raise StackError(
                    f"{self.name} was not ready after {timeout_s:.0f} s: read {self.log}"
                    f"{self.log_tail()}"
                )
            time.sleep(0.02)
        return self

    def is_running(self) -> bool:
        """Return whether the program still runs."""
        return self._keeper.poll() is None

    def log_tail(self) -> str:
        """Return the last lines of the log, indented, for an error message."""
        lines = self.log.read_text(errors="replace").splitlines()[-LOG_LINES_SHOWN:]
        return "".join(f"\n    {line}" for line in ["", *lines]) if lines else ""

    def release(self) -> None:
        """Signal the program to end, without waiting for it."""
        if self._keeper.stdin and not self._keeper.stdin.closed:
            self._keeper.stdin.close()

    def stop(self) -> None:
        """Stop the program, and wait until it has ended."""
        self.release()
        try:
            self._keeper.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._keeper.kill()
            self._keeper.wait()


def stop_all(processes: Iterable[Process]) -> None:
    """Stop *processes* concurrently, in reverse order of their start."""
    backwards = list(processes)[::-1]
    for process in backwards:
        process.release()
    for process in backwards:
        process.stop()
