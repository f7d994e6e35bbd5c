"""Access to a local stack: address, embedding origins, unit, and a developer's own services."""

import io
import os
import re
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import segno

from local import places
from local.errors import StackError
from local.ports import HOST

EVERYWHERE = "0.0.0.0"  # noqa: S104 - the developer asks for it
AUDIENCE = "redpacket"
WALLET_SECRET = places.LOCAL / "wallet.json"
OPTIONS = {
    "BIND": "bind",
    "EMBED": "embed",
    "HOST_WALLET_URL": "wallet",
    "HOST_WALLET_SECRET": "wallet_secret",
    "JWT_ISSUER": "issuer",
    "JWT_AUDIENCE": "audience",
    "UNIT": "unit",
}
"""`make up` options, mapped to the fields that they set."""
_ORIGIN = re.compile(r"https?://[a-z0-9.-]+(:\d+)?")
_UNIT = re.compile(r"([A-Za-z][\w-]{0,15})(?:,([02]))?(?:,([^\s\d,]{1,8}))?")
_URL = re.compile(_ORIGIN.pattern + r"(/[\w./~-]*)?")


@dataclass(frozen=True, slots=True)
class Access:
    """Address to listen on, origins that may embed packets, unit, and the developer's services."""

    bind: str = HOST
    embed: str = ""
    wallet: str = ""
    """URL of a developer's own wallet. Empty starts the simulated one."""
    wallet_secret: Path = WALLET_SECRET
    """File with the secrets for the developer's wallet, created if it is missing."""
    issuer: str = ""
    """Issuer of user tokens. Empty means the development issuer."""
    audience: str = AUDIENCE
    """Audience of user tokens."""
    unit: str = "CNY,2,¥"
    """Name, decimals, and symbol for the unit of account, separated by commas."""

    @classmethod
    def of_environment(cls) -> Self:
        """Parse `make up` options such as BIND=... and EMBED=.... Raises StackError."""
        given = os.environ.get
        made = cls(
            given("BIND") or HOST,
            given("EMBED", ""),
            given("HOST_WALLET_URL", ""),
            Path(given("HOST_WALLET_SECRET") or WALLET_SECRET),
            given("JWT_ISSUER", ""),
            given("JWT_AUDIENCE") or AUDIENCE,
            _unit(given("UNIT") or "CNY,2,¥"),
        )
        wrong = [each for each in made.embed.split(",") if each and not _ORIGIN.fullmatch(each)]
        if wrong:
            raise StackError(f"{wrong[0]} is not an origin: write EMBED=http://localhost:5173")
        for name, url in (("HOST_WALLET_URL", made.wallet), ("JWT_ISSUER", made.issuer)):
            if url and not _URL.fullmatch(url):
                raise StackError(
                    f"{name}={url} is not an address: write {name}=http://127.0.0.1:9000"
                )
        if made.bind not in {HOST, EVERYWHERE}:
            raise StackError(
                f"BIND={made.bind} is unknown: write {HOST} (this machine) or {EVERYWHERE} (its "
                "network)"
            )
        return made

    @property
    def options(self) -> dict[str, str]:
        """Return the `make up` options that result in this access."""
        return {name: str(getattr(self, field)) for name, field in OPTIONS.items()}

    @property
    def host(self) -> str:
        """Return the host for browsers: localhost, or this machine's address on the network."""
        if self.bind == HOST:
            return HOST
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                # A UDP connect sends nothing; the system only chooses the outgoing address.
                probe.connect(("192.0.2.1", 9))
            except OSError:
                return HOST
            host: str = probe.getsockname()[0]
            return host


def _unit(text: str) -> str:
    found = _UNIT.fullmatch(text)
    if not found:
        raise StackError(f"{text} is not a unit: write UNIT=points or UNIT=gems,2,gem")
    name, decimals, symbol = found.groups()
    return f"{name},{decimals or 0},{symbol or name[:8]}"


def phone_hint(page: str) -> str:
    """Return a QR code that opens the page on a phone, or a hint on how to get the code."""
    if f"//{HOST}:" in page:
        return f"For a phone in the same network: make run BIND={EVERYWHERE}\n"
    drawing = io.StringIO()
    segno.make(page, error="l").terminal(out=drawing, compact=True, border=2)
    return (
        f"Scan with a phone in the same network: {page}/\n{drawing.getvalue()}"
        "Everybody in this network can act as any user of this stack.\n"
    )
