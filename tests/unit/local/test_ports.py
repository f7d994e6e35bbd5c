"""Ports of a stack: once chosen, they stay reserved until the stack ends."""

import socket
import sys
import urllib.request
from pathlib import Path

import pytest

from local import places
from local.errors import StackError
from local.ports import HOST, Ports, is_open, listen
from local.processes import Process

SERVED = """
from starlette.responses import PlainTextResponse
from local.serving import serve
serve(PlainTextResponse("ours"), 1)
"""


def test_a_reserved_port_is_not_chosen_by_another_stack() -> None:
    port = Ports.free().front

    with listen(HOST, port):
        with pytest.raises(StackError, match=f"port {port}"):
            listen(HOST, port)

        assert is_open(port)


def test_a_program_serves_the_port_that_was_reserved_for_it(tmp_path: Path) -> None:
    port = Ports.free().front
    listener = listen(HOST, port)

    process = Process(
        "front",
        [sys.executable, "-c", SERVED],
        log=tmp_path / "log",
        env={"PYTHONPATH": str(places.ROOT)},
        cwd=places.ROOT,
        listener=listener,
    )
    try:
        with urllib.request.urlopen(f"http://{HOST}:{port}/", timeout=30) as answer:
            text = answer.read()
    finally:
        process.stop()

    assert text == b"ours"
    with pytest.raises(OSError, match="refused"):
        socket.create_connection((HOST, port), timeout=5)
