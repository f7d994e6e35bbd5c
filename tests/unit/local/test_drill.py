"""Drills: each causes one fault on a running stack, and a frozen program continues afterwards."""

import subprocess
import sys
from pathlib import Path

import pytest

from local import places
from local.drill import DRILLS, Scene, drill, wait
from local.errors import StackError

ECHO = "import sys; print(sys.stdin.read(), end='')"


@pytest.fixture(autouse=True)
def no_stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "STATES", tmp_path)
    for name, _ in (*DRILLS, ("REDPACKET_STATE", "")):
        monkeypatch.delenv(name, raising=False)


def test_zero_or_two_faults_are_refused_with_the_choices(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_a_frozen_program_continues_after_the_drill(capsys: pytest.CaptureFixture[str]) -> None:
    program = subprocess.Popen(
        [sys.executable, "-c", ECHO], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    scene = Scene({"api": "", "pids": {"receiver": program.pid}})

    with pytest.raises(KeyboardInterrupt), scene.frozen("receiver"):
        raise KeyboardInterrupt
    answer, _ = program.communicate(b"alive", timeout=10)

    assert answer == b"alive"
    printed = capsys.readouterr().out
    assert "The receiver does not answer" in printed
    assert "The receiver answers again" in printed


def test_programs_of_another_stack_continue() -> None:
    with (
        pytest.raises(StackError, match="the stack did not start the wallet"),
        Scene({"api": "", "pids": {}}).frozen("wallet"),
    ):
        pytest.fail("it was frozen")


def test_answers_to_users_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    answers = iter(["503 unavailable", "503 unavailable", "200 claimed"])

    with pytest.raises(StopIteration):
        wait(60, lambda: next(answers), pause_s=0)

    assert "Users saw: 2 x 503 unavailable, 1 x 200 claimed" in capsys.readouterr().out
