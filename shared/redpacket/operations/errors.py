"""Errors of operations."""

from __future__ import annotations

from redpacket.platform.errors import Rejected, Unavailable


class SwitchNotFound(Rejected):
    """No switch has this name."""

    code = "switch_not_found"
    status = 404


class AllowanceMoved(Unavailable):
    """The same operator moved money to the same subject at the same time."""
