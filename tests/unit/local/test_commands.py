"""Commands of the Makefile that run a stack, without one."""

import os
import signal
from pathlib import Path

import pytest

from local import commands
from local.errors import StackError


def test_a_stack_that_does_not_stop_is_named_with_the_limit_and_the_next_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    signals: list[tuple[int, int]] = []
    monkeypatch.setattr(commands, "_keeper_of", lambda _: 4711)
    monkeypatch.setattr(commands, "DOWN_TIMEOUT_S", 0)
    monkeypatch.setattr(os, "kill", lambda pid, number: signals.append((pid, number)))

    with pytest.raises(StackError, match=r"process 4711 did not stop within 0 s.*kill -9 4711"):
        commands.down()

    assert signals == [(4711, signal.SIGTERM)]


def test_a_stack_that_is_not_ready_names_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "UP", tmp_path)

    with pytest.raises(StackError, match=r"not ready within 300 s: read .*up\.log, then run"):
        commands._wait_until_ready()
