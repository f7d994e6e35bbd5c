"""Patched AWS emulator: two delays removed; other modules run state machine tasks and alarms.

The original unpacks every layer for each process. Each cold start waits for these 3,000 files, and
stopping a stack has to delete them. After a call that logs nothing, the original waits 50 ms for
log lines.
"""

import fcntl
import json
import os
import struct
import sys
import tempfile
import termios
import threading
import time
import urllib.request
import zipfile
from collections.abc import Iterable
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import IO, Any

from ministack.app import main
from ministack.core import lambda_runtime
from ministack.services import cloudwatch, stepfunctions

LOG_TIMEOUT_S = 0.25

_unpacking = threading.Lock()


class _Archive(zipfile.ZipFile):
    """Zip archive that unpacks a layer only once; each process gets a link to the files."""

    def extractall(
        self,
        path: str | PathLike[str] | None = None,
        members: Iterable[str | zipfile.ZipInfo] | None = None,
        pwd: bytes | None = None,
    ) -> None:
        target = Path(path or ".")
        if not target.name.startswith("layer_"):
            super().extractall(path, members, pwd)
            return
        listed = "".join(f"{each.filename}\n{each.CRC}\n" for each in self.infolist())
        shared = Path(tempfile.gettempdir(), f"layer-{sha256(listed.encode()).hexdigest()}")
        with _unpacking:
            if not shared.exists():
                unfinished = shared.with_suffix(".unfinished")
                super().extractall(unfinished)
                unfinished.rename(shared)
        # Delete the archive, because the process no longer needs its 40 MB.
        Path(str(self.filename)).unlink()
        target.rmdir()
        target.symlink_to(shared)


class _Worker(lambda_runtime.Worker):  # type: ignore[misc]
    """Function process, which logs before it responds: an empty pipe means a complete log."""

    def _drain_stderr_bounded(self, *_: float) -> str:
        process = self._proc
        if process is None:  # The process ended with an error.
            return str(super()._drain_stderr_bounded())
        deadline = time.monotonic() + LOG_TIMEOUT_S
        while _unread_bytes(process.stderr) and time.monotonic() < deadline:
            time.sleep(0.001)
        return str(super()._drain_stderr_bounded(first_line_wait=0.003))


def _unread_bytes(pipe: IO[str]) -> int:
    (count,) = struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, b"\0" * 4))
    return int(count)


def _run_task(resource: str, arguments: Any) -> Any:  # noqa: ANN401 - any integration's
    """Run a state machine's task in local.orchestration."""
    body = json.dumps({"resource": resource, "arguments": _whole(arguments)}).encode()
    with urllib.request.urlopen(f"{os.environ['ORCHESTRATION_URL']}/tasks", body) as response:
        answer = json.load(response)
    if "error" in answer:
        raise stepfunctions._ExecutionError(answer["error"], answer["cause"])  # noqa: SLF001
    return answer["result"]


def _whole(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """Return a value with whole floats as integers, as AWS does; JSONata computes in floats."""
    if isinstance(value, dict):
        return {name: _whole(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_whole(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


if __name__ == "__main__":
    # By default, a thread waits up to 5 ms for the interpreter lock at each file that it unpacks.
    sys.setswitchinterval(0.0005)
    zipfile.ZipFile = _Archive  # type: ignore[misc]
    lambda_runtime.Worker = _Worker
    stepfunctions._invoke_resource = _run_task  # noqa: SLF001
    # local.alarms evaluates alarms. The emulator would reset the alarms' states after each metric.
    cloudwatch._evaluate_all_alarms = lambda: None  # noqa: SLF001
    main()
