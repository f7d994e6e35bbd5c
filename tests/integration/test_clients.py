"""Clients that `make clients` builds: they compile strictly, and send, grab and read a packet."""

import json
import os
import subprocess
import sys
from pathlib import Path

from local.places import LOCAL, ROOT
from local.stack import Stack
from tests.integration.conftest import MakeUser

CLIENT = LOCAL / "client"
HERE = Path(__file__).parent
NODE = LOCAL / "venv" / "node" / "bin" / "node"
TYPES = ["-m", "mypy", "--strict", "--no-incremental", "--config-file=", "--cache-dir=/dev/null"]


def test_the_python_client_is_typed_and_makes_a_round_trip(a_user: MakeUser, stack: Stack) -> None:
    assert CLIENT.exists(), "run `make clients`"
    _run([sys.executable, *TYPES, "-m", "round_trip", "-p", "redpacket_client"])

    _check_round_trip([sys.executable, "-m", "round_trip"], a_user, stack)


def test_the_python_client_reads_words_codes_and_fields_of_a_later_version() -> None:
    _run([sys.executable, *TYPES, "-m", "later_answers", "-p", "redpacket_client"])

    _run([sys.executable, "-m", "later_answers"])


def test_the_typescript_client_makes_a_round_trip(a_user: MakeUser, stack: Stack) -> None:
    # `make types` compiles round-trip.ts.
    _check_round_trip([str(NODE), str(ROOT / "web" / "test" / "round-trip.ts")], a_user, stack)


def _check_round_trip(command: list[str], a_user: MakeUser, stack: Stack) -> None:
    sender, guest = a_user(funds_fen=100), a_user()

    told = _run([*command, stack.api, sender.token, guest.token])

    assert json.loads(told) == [100, 100, "恭喜发财，大吉大利"]


def _run(command: list[str]) -> str:
    paths = f"{HERE}{os.pathsep}{CLIENT}"
    env = {**os.environ, "MYPYPATH": paths, "PYTHONPATH": paths}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env, cwd=HERE)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
