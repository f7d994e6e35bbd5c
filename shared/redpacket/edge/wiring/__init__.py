"""The composition root: builds each adapter once per cold start, and binds the flows to them.

Nothing connects at import time, and nothing is built before a flow needs it. Each room of the
wiring builds on those below it, as the rooms of the flows do.
"""

from __future__ import annotations

from redpacket.edge.settings import settings
from redpacket.edge.wiring.gateway_work import GatewayWork


class Wiring(GatewayWork):
    """All that the doors call, and what it stands on."""


settings.check()
wiring = Wiring()
"""This process' own."""
