"""Server that runs a shell's `redpacket` and `aws` commands in forked processes.

The runbook has a hundred commands, each of which would import modules for half a second. The
program that `install` writes sends its arguments, environment and files to the server.
"""

import gc
import json
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from redpacket_cli import main
from testing.platform import aws_command

_CLIENT = """#!{python} -IS
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    asked = [os.path.basename(sys.argv[0]), sys.argv[1:], os.getcwd(), dict(os.environ)]
    socket.send_fds(server, [json.dumps(asked).encode()], [0, 1, 2])
    sys.exit(int(server.recv(9) or 1))
"""
_FIRST = (["cache", "PING"], ["resource", "ApiId"], ["logs", "grab"], ["switch", "list"])
"""Commands that the server runs first, so that forks start with loaded modules and AWS models."""
_ASKED_MAX = 100_000
"""Maximum size of a command with its environment, in bytes."""


@contextmanager
def install(folder: Path, stack: str) -> Iterator[None]:
    """Write both commands into *folder*, and serve them; *stack* is the folder of a local stack."""
    address = folder / "commands.sock"
    for name in ("redpacket", "aws"):
        command = folder / name
        command.write_text(_CLIENT.format(python=sys.executable, address=str(address)), "utf-8")
        command.chmod(stat.S_IRWXU)
    module = [sys.executable, "-m", __name__, str(address)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "REDPACKET_STATE": stack}
    with subprocess.Popen(module, stdout=subprocess.PIPE, env=environment) as server:
        assert server.stdout
        while b"ready" not in server.stdout.readline():
            assert server.poll() is None
        try:
            yield
        finally:
            server.terminate()


def _serve(address: str) -> None:
    for words in _FIRST:
        with suppress(SystemExit):
            main.app(words)
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        while True:
            caller, _ = listener.accept()
            with caller:
                asked, files, _, _ = socket.recv_fds(caller, _ASKED_MAX, 3)
                if not os.fork():
                    caller.send(str(_run(json.loads(asked), files)).encode())
                    os._exit(0)
            for file in files:
                os.close(file)


def _run(asked: tuple[str, list[str], str, dict[str, str]], files: list[int]) -> int:
    """Run a command in this forked process; return its exit code."""
    name, words, folder, environment = asked
    for standard, file in enumerate(files):
        os.dup2(file, standard)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = [name, *words]
    code: object = 0
    try:
        {"redpacket": main.main, "aws": aws_command.main}[name]()
    except SystemExit as end:
        code = end.code
    except Exception as error:  # noqa: BLE001 - a command ends, and the server goes on
        sys.stderr.write(f"{error!r}\n")
        code = 1
    with suppress(BrokenPipeError):  # The reader may close the pipe early, as `| head -1` does.
        sys.stdout.flush()
    sys.stderr.flush()
    return code if isinstance(code, int) else int(bool(code))


if __name__ == "__main__":
    _serve(sys.argv[1])
