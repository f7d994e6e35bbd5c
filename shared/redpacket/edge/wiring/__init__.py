"""Composition root: builds adapters lazily, and connects nothing at import time."""

from __future__ import annotations

from redpacket.edge.settings import settings
from redpacket.edge.wiring.events import Events


class Wiring(Events):
    """Wiring of all handlers."""


settings.check()
wiring = Wiring()
