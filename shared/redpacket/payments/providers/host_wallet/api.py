"""The host's wallet has no routes besides its callback."""

from __future__ import annotations

from redpacket.platform.http.api import Api

routes = Api()
