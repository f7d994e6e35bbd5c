"""Registry of chat platforms."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Self, cast

if TYPE_CHECKING:
    from redpacket.chat.ports import Connector, ConnectorEnvironment


class ConnectorName(StrEnum):
    """Registry of chat platforms: each line has a name and the class that implements it.

    The routes, rows and host ids contain the name. The class implements `ports.Connector`; a
    process imports the class when it first needs the platform.
    """

    TELEGRAM = "telegram", "redpacket.chat.connectors.telegram.connector:Telegram"
    LARK = "lark", "redpacket.chat.connectors.lark.connector:Lark"

    implementation: str

    def __new__(cls, name: str, implementation: str = "") -> Self:
        """Create a member from its name and the class that implements it."""
        member = str.__new__(cls, name)
        member._value_, member.implementation = name, implementation
        return member

    def connect(self, environment: ConnectorEnvironment) -> Connector | None:
        """Return the connector, or None if the secret lacks a value that the platform requires.

        A blank value counts as missing, because anyone can guess a blank key.
        """
        given = {name: value for name, value in environment.secret.items() if value.strip()}
        if not any(name.startswith(f"{self}_") for name in given):
            return None
        try:
            return cast(
                "Connector", resolve_name(self.implementation)(replace(environment, secret=given))
            )
        except KeyError:
            return None
