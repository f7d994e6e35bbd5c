"""Makefile commands `run`, `up`, and `down`."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType
from typing import Any

from local import places
from local.access import Access, phone_hint
from local.errors import StackError
from local.ports import Ports
from local.stack import Stack
from local.welcome import welcome

UP = places.STATES / "up"
# The first build downloads the layer's packages. Later starts take less than ten seconds.
UP_TIMEOUT_S = 300.0
DOWN_TIMEOUT_S = 90.0


def say(message: str) -> None:
    """Print progress."""
    print(message, flush=True)


def end_on_signals() -> None:
    """Make SIGTERM and SIGHUP act like Ctrl-C, so that `with` blocks clean up."""
    signal.signal(signal.SIGINT, _interrupt)
    signal.signal(signal.SIGTERM, _interrupt)
    signal.signal(signal.SIGHUP, _interrupt)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def run() -> None:
    """Run a stack in the foreground until it is stopped."""
    _serve(places.STATES / "run", hint="Ctrl-C stops it.")


def serve() -> None:
    """Run the `make up` stack in the current process, which `up` starts in the background."""
    _serve(UP, hint="`make down` stops it.")


def _serve(state_dir: Path, hint: str) -> None:
    try:
        access = Access.of_environment()
        ports = Ports.default()
        with Stack(state_dir, ports=ports, say=say, has_alarms=True, access=access) as stack:
            say(f"{welcome(stack)}\n{phone_hint(stack.page)}{hint}")
            ready = state_dir / "ready.json"
            ready.write_text(json.dumps(stack.description()))
            try:
                while (ended := stack.ended()) is None:
                    time.sleep(0.2)
            finally:
                # Remove the file first, because another stack may start here once this one stops.
                ready.unlink()
            raise StackError(
                f"{ended.name} ended unexpectedly: read {ended.log}, then start the stack again"
            )
    except KeyboardInterrupt:
        say("\nStopped.")


def up() -> None:
    """Start a stack in the background unless one is running, and print its addresses."""
    print(json.dumps(started()))


def started() -> dict[str, Any]:
    """Start a stack in the background unless one is running, and return its description.

    Raises StackError if the environment sets options that a running stack does not have.
    """
    access = Access.of_environment()
    if _keeper_of(UP) is None:
        _start_in_background()
    description = _wait_until_ready()
    running: dict[str, str] = description.get("options", {})
    others = [
        f"{name}={running.get(name, '')}"
        for name, wanted in access.options.items()
        if os.environ.get(name) and running.get(name) != wanted
    ]
    if others:
        raise StackError(
            f"the running stack has {' '.join(others)}: run `make down`, then repeat this command"
        )
    return description


def _start_in_background() -> None:
    UP.mkdir(parents=True, exist_ok=True)
    log = UP / "up.log"
    # A stack that is just stopping may still write its last line into the old file.
    log.unlink(missing_ok=True)
    with log.open("wb") as output:
        server = subprocess.Popen(
            [sys.executable, "-m", "local", "serve"],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        _follow(log, server)
    except BaseException:
        server.terminate()
        server.wait()
        raise
    if server.poll() is not None:
        raise StackError(f"the stack did not start: the reason is above, and in {UP}")


def _follow(log: Path, server: "subprocess.Popen[bytes]") -> None:
    """Print the output of *server* until the stack is ready or has ended."""
    with log.open("rb") as text:
        is_over = False
        while not is_over:
            is_over = server.poll() is not None or (UP / "ready.json").exists()
            sys.stdout.buffer.write(text.read())
            sys.stdout.flush()
            time.sleep(0.05)


def _wait_until_ready() -> dict[str, Any]:
    deadline = time.monotonic() + UP_TIMEOUT_S
    while time.monotonic() < deadline and _keeper_of(UP) is not None:
        try:
            description: dict[str, Any] = json.loads((UP / "ready.json").read_text())
        except (FileNotFoundError, ValueError):
            time.sleep(0.1)
        else:
            return description
    raise StackError(
        f"the stack was not ready within {UP_TIMEOUT_S:.0f} s: read {UP / 'up.log'}, then run "
        "`make down` and `make up`"
    )


def down() -> None:
    """Stop the background stack, if one is running."""
    keeper = _keeper_of(UP)
    if keeper is None:
        say("Nothing is running.")
        return
    os.kill(keeper, signal.SIGTERM)
    deadline = time.monotonic() + DOWN_TIMEOUT_S
    while _keeper_of(UP) is not None:
        if time.monotonic() > deadline:
            raise StackError(
                f"process {keeper} did not stop within {DOWN_TIMEOUT_S:.0f} s: end it with "
                f"`kill -9 {keeper}`, then run `make up`"
            )
        time.sleep(0.05)
    say("Stopped.")


def _keeper_of(state_dir: Path) -> int | None:
    """Return the id of the process that runs a stack in *state_dir*, or None.

    That process holds a lock on a file. Unlike a process id in a file, a lock cannot outlive the
    process.
    """
    try:
        with (state_dir / "lock").open("r+") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return None
    except OSError:
        return int((state_dir / "lock").read_text() or 0) or None
    return None
