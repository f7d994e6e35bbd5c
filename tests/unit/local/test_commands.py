"""Makefile commands that run a stack, tested without a stack."""

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path
from unittest.mock import Mock

import pytest

from local import commands
from local.access import EVERYWHERE, OPTIONS, Access
from local.errors import StackError
from local.stack import Stack


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


def test_the_last_lines_of_a_stopped_stack_are_not_in_the_log_of_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "UP", tmp_path)
    monkeypatch.setattr(commands, "_follow", lambda *_: None)
    monkeypatch.setattr(subprocess, "Popen", Mock(return_value=Mock(poll=lambda: None)))
    with (tmp_path / "up.log").open("wb", buffering=0) as earlier:
        earlier.write(b"API: http://127.0.0.1:8080")

        commands._start_in_background()
        earlier.write(b"Stopped.")

    assert (tmp_path / "up.log").read_bytes() == b""


def test_a_stack_that_is_not_ready_names_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "UP", tmp_path)

    with pytest.raises(StackError, match=r"not ready within 300 s: read .*up\.log, then run"):
        commands._wait_until_ready()


@pytest.fixture
def running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pretend that a stack with its own EMBED is running."""
    for name in OPTIONS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(commands, "UP", tmp_path)
    monkeypatch.setattr(commands, "_keeper_of", lambda _: 4711)
    options = Access(embed="http://localhost:5173").options
    (tmp_path / "ready.json").write_text(json.dumps({"api": "http://a", "options": options}))


@pytest.mark.usefixtures("running")
@pytest.mark.parametrize("given", [{}, {"EMBED": "http://localhost:5173"}, {"JWT_ISSUER": ""}])
def test_a_running_stack_with_the_requested_options_is_used(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str]
) -> None:
    for name, value in given.items():
        monkeypatch.setenv(name, value)

    assert commands.started()["api"] == "http://a"


@pytest.mark.usefixtures("running")
@pytest.mark.parametrize(
    ("name", "value", "has"),
    [
        ("EMBED", "http://localhost:9999", "EMBED=http://localhost:5173"),
        ("HOST_WALLET_URL", "http://127.0.0.1:18999/wallet", "HOST_WALLET_URL="),
        ("BIND", EVERYWHERE, "BIND=127.0.0.1"),
    ],
)
def test_an_option_that_the_running_stack_lacks_is_refused(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, has: str
) -> None:
    monkeypatch.setenv(name, value)

    with pytest.raises(StackError, match=f"the running stack has {has}: run `make down`"):
        commands.started()


def test_a_stopped_stack_lets_the_next_one_start_before_its_files_are_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stack = Stack(tmp_path)
    stack._take_state_dir()
    keepers: list[int | None] = [commands._keeper_of(tmp_path)]
    monkeypatch.setattr(
        shutil, "rmtree", lambda *_, **__: keepers.append(commands._keeper_of(tmp_path))
    )

    stack.stop()

    assert keepers == [os.getpid(), None]
