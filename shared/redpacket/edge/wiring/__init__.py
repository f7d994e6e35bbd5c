"""Composition root: builds adapters lazily, once for each process, and binds use cases to them.

Nothing connects at import time.
"""

from __future__ import annotations

from redpacket.edge.settings import settings
from redpacket.edge.wiring.events import Events


class Wiring(Events):
    """Wiring of all handlers."""


settings.check()
wiring = Wiring()
"""Wiring of this process."""
