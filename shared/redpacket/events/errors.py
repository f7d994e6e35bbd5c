"""Errors of events. Each docstring is the text that clients get."""

from __future__ import annotations

from redpacket.platform.errors import Rejected


class WebhookNotFound(Rejected):
    """This webhook does not exist. List the webhooks to find its name."""

    code = "webhook_not_found"
    status = 404
