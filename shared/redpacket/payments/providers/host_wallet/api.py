"""The host's wallet has no routes beside its callback."""

from __future__ import annotations

from redpacket.platform.http.api import Api

routes = Api()
