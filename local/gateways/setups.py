"""Provider setups: a local stack's parameters, and the page's configuration in any stack."""

from __future__ import annotations

import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from local import gateways

if TYPE_CHECKING:
    from local.gateways.server import Provider

Parameters = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Place:
    """Place of a simulator: *folder* contains the keys, and callbacks go to *callback_url*."""

    folder: Path
    url: str
    callback_url: str
    retry_ms: Sequence[int]


class Setup(ABC):
    """Setup of one provider: the constant `SETUP` of `setup.py` in the provider's folder."""

    program: str
    """Name of the simulator among the programs of a stack."""
    port: int
    """Documented port of the simulator, used unless another program has it."""
    enabled_by: str
    """Parameter that enables the provider."""
    scripts: Sequence[str] = ()
    """Third-party scripts that the page loads; template.yaml lists the same URLs."""
    only_unit: str = ""
    """Name of the only unit of account that the provider supports; empty for any."""
    is_simulated: bool = True
    """Whether a local stack starts its simulator."""
    policies: Sequence[str] = ()
    """Trusted Types policies that `scripts` need."""

    @abstractmethod
    def simulator(self, place: Place) -> Provider:
        """Make the keys if they are missing, and return the simulator."""

    @abstractmethod
    def secrets(self, state_dir: Path) -> dict[str, Path]:
        """Return the files with a local stack's secrets, keyed by template parameter."""

    @abstractmethod
    def parameters(self, state_dir: Path, url: str) -> dict[str, str]:
        """Return a local stack's other parameters; the provider's simulator is at *url*."""

    def page(self, _parameters: Parameters, _url: str = "") -> dict[str, str] | None:
        """Return the provider's part of /config.json; *url* is "" without a simulator."""
        return None

    def auth(self, _parameters: Parameters) -> dict[str, str] | None:
        """Return the page's sign-in if users sign in with this provider. Raises StackError."""
        return None


@cache
def setups() -> dict[str, Setup]:
    """Return the setups from all folders, keyed by provider name."""
    names = sorted(found.name for found in pkgutil.iter_modules(gateways.__path__) if found.ispkg)
    return {name: import_module(f"local.gateways.{name}.setup").SETUP for name in names}


def page_parts(parameters: Parameters, urls: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return the providers' parts of /config.json; *urls* are the addresses of simulators."""
    parts = {name: each.page(parameters, urls.get(name, "")) for name, each in setups().items()}
    return {name: part for name, part in parts.items() if part}
