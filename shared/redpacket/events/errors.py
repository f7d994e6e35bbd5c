"""Errors of events."""

from __future__ import annotations

from redpacket.platform.errors import Rejected


class WebhookNotFound(Rejected):
    """No webhook has this name."""

    code = "webhook_not_found"
    status = 404
