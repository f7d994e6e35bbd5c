"""Registry of payment providers. Public functions import this module, so it imports little."""

from __future__ import annotations

from enum import StrEnum
from importlib import import_module
from types import ModuleType
from typing import Self


class ProviderName(StrEnum):
    """Registry of payment providers: each member has a name and a class that implements it.

    The API and stored rows contain the name. The class implements `ports.Provider`; a container
    imports it when the process first needs a provider. The `api` module in the provider's folder
    has its routes, and the `answers` module has its fields in shared responses.
    """

    HOST = "host", "redpacket.payments.providers.host_wallet.setup:HostWallet"
    WECHAT = "wechat", "redpacket.payments.providers.wechat.setup:WeChat"

    implementation: str

    def __new__(cls, name: str, implementation: str = "") -> Self:
        """Create a member from its name and the class that implements it."""
        member = str.__new__(cls, name)
        member._value_, member.implementation = name, implementation
        return member

    def module(self, name: str) -> ModuleType:
        """Return a module of the provider's folder."""
        return import_module(f"{self.implementation.rpartition('.')[0]}.{name}")
