"""Tests of drills: one fault, on a program that runs, and its end."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from local import places
from local.drill import FAULTS, drill
from local.errors import StackError

ECHO = "import sys; print(sys.stdin.read(), end='')"


@pytest.fixture(autouse=True)
def states(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(places, "STATES", tmp_path)
    for name, _ in FAULTS:
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "up").mkdir()
    return tmp_path / "up"


def test_no_fault_or_two_are_refused_with_the_choices(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StackError, match="CACHE=kill, CACHE=freeze"):
        drill()
    monkeypatch.setenv("CACHE", "freeze")
    monkeypatch.setenv("GATEWAY", "freeze")
    with pytest.raises(StackError, match="name one fault"):
        drill()


def test_without_a_stack_the_drill_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CACHE", "kill")

    with pytest.raises(StackError, match="make up"):
        drill()


def test_a_frozen_program_goes_on_after_the_drill(
    states: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WEBHOOK", "down")
    monkeypatch.setenv("SECONDS", "0.05")
    program = subprocess.Popen(
        [sys.executable, "-c", ECHO], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    (states / "stack.json").write_text(json.dumps({"pids": {"receiver": program.pid}}))

    drill()
    answer, _ = program.communicate(b"alive", timeout=10)

    assert answer == b"alive"
    assert "does not answer, for 0 s" in capsys.readouterr().out


def test_a_killed_program_is_gone(states: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CACHE", "kill")
    with subprocess.Popen([sys.executable, "-c", ECHO], stdin=subprocess.PIPE) as program:
        (states / "stack.json").write_text(json.dumps({"pids": {"cache": program.pid}}))

        drill()

        assert program.wait(10) == -signal.SIGKILL
    with pytest.raises(ProcessLookupError):
        os.kill(program.pid, 0)
