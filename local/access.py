"""Reach of a local stack: other origins of this machine, and its network."""

import io
import os
import re
import socket
from dataclasses import dataclass
from typing import Self

import segno

from local.errors import StackError
from local.ports import HOST

EVERYWHERE = "0.0.0.0"  # noqa: S104 - the developer asks for it
_ORIGIN = re.compile(r"https?://[a-z0-9.-]+(:\d+)?")


@dataclass(frozen=True, slots=True)
class Access:
    """The address to listen at, and the origins whose pages may embed packets."""

    bind: str = HOST
    embed: str = ""

    @classmethod
    def of_environment(cls) -> Self:
        """Parse the options of `make up BIND=... EMBED=...`. Raises StackError."""
        made = cls(os.environ.get("BIND") or HOST, os.environ.get("EMBED", ""))
        wrong = [each for each in made.embed.split(",") if each and not _ORIGIN.fullmatch(each)]
        if wrong:
            raise StackError(f"{wrong[0]} is no origin: write EMBED=http://localhost:5173")
        if made.bind not in {HOST, EVERYWHERE}:
            raise StackError(
                f"BIND={made.bind} is unknown: write {HOST} (this machine) or {EVERYWHERE} (its "
                "network)"
            )
        return made

    @property
    def host(self) -> str:
        """Address that people open: this machine's own, or its address in the network."""
        if self.bind == HOST:
            return HOST
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                # Sends nothing: the system only chooses the address that leads outside.
                probe.connect(("192.0.2.1", 9))
            except OSError:
                return HOST
            host: str = probe.getsockname()[0]
            return host


def phone_hint(page: str) -> str:
    """Return the QR code of the page for a phone, or how to get one."""
    if f"//{HOST}:" in page:
        return f"For a phone in the same network: make run BIND={EVERYWHERE}\n"
    drawing = io.StringIO()
    segno.make(page, error="l").terminal(out=drawing, compact=True, border=2)
    return (
        f"Scan with a phone in the same network: {page}/\n{drawing.getvalue()}"
        "Everybody in this network can act as any user of this stack.\n"
    )
