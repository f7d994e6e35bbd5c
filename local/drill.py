"""Makes one fault on the running stack, so that its alarm and its runbook page can be rehearsed."""

import os
import signal
import time
from datetime import datetime

from local import places
from local.commands import say
from local.errors import StackError

FAULTS = {
    ("CACHE", "kill"): "cache",
    ("CACHE", "freeze"): "cache",
    ("GATEWAY", "freeze"): "gateway",
    ("WALLET", "freeze"): "wallet",
    ("WEBHOOK", "down"): "receiver",
}
"""Programs of stack.json by variable and value; a frozen one keeps its connections, silently."""
LOOK = dict.fromkeys(FAULTS.values(), "redpacket doctor") | {
    "receiver": "redpacket webhooks list. Only webhooks to the stack's `receiver` fail"
}
SECONDS = 60.0


def drill() -> None:
    """Make the fault that the environment names, and end it after SECONDS."""
    wanted = [(name, os.environ[name]) for name, _ in FAULTS if os.environ.get(name)]
    if len(set(wanted)) != 1 or wanted[0] not in FAULTS:
        choices = ", ".join(f"{name}={value}" for name, value in FAULTS)
        raise StackError(f"name one fault: {choices}; SECONDS=60 ends it after a minute")
    (name, value), seconds = wanted[0], float(os.environ.get("SECONDS") or SECONDS)
    program = FAULTS[name, value]
    pid = places.running_stack()["pids"].get(program)
    if pid is None:
        raise StackError(f"the stack did not start the {program}: stop your own by hand")
    if value == "kill":
        os.kill(pid, signal.SIGKILL)
        say(f"{_now()} {program} killed: it starts again without data.")
        return
    os.kill(pid, signal.SIGSTOP)
    try:
        say(f"{_now()} {program} does not answer, for {seconds:.0f} s. Look: {LOOK[program]}")
        time.sleep(seconds)
    finally:
        os.kill(pid, signal.SIGCONT)
        say(f"{_now()} {program} answers again.")


def _now() -> str:
    return f"{datetime.now().astimezone():%H:%M:%S}"
