"""Ports of a stack on 127.0.0.1."""

import socket
from dataclasses import dataclass
from typing import Self

from local.errors import StackError
from local.gateways.setups import setups

HOST = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Ports:
    """Port of each program in a stack."""

    simulators: dict[str, int]
    """Ports, keyed by provider."""
    front: int
    emulator: int
    cache: int
    receiver: int
    orchestration: int
    chat: int

    @classmethod
    def default(cls) -> Self:
        """Return the documented ports, with a free port in place of each port that is in use."""
        simulators = {name: _free_port(setup.port) for name, setup in setups().items()}
        return cls(simulators, *map(_free_port, (8080, 14566, 16379, 18446, 18447, 18448)))

    @classmethod
    def free(cls) -> Self:
        """Return unused ports, so that another stack can run on this machine."""
        return cls({name: _free_port() for name in setups()}, *(_free_port() for _ in range(6)))


def _free_port(wanted: int = 0) -> int:
    with socket.socket() as probe:
        # As servers do, treat a port that has only closing connections as free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, wanted))
        except OSError:
            return _free_port()
        port: int = probe.getsockname()[1]
        return port


def listen(host: str, port: int) -> socket.socket:
    """Reserve *port* for a program that starts later. Raises StackError if the port is in use."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen()
    except OSError as error:
        listener.close()
        raise StackError(f"another program took port {port} just now: start again") from error
    return listener


def is_open(port: int) -> bool:
    """Return whether a program listens on *port*."""
    with socket.socket() as probe:
        return probe.connect_ex((HOST, port)) == 0
