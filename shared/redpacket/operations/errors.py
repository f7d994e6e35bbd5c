"""Errors of operations. Each docstring is the text that clients get."""

from __future__ import annotations

from redpacket.platform.errors import Contended, Rejected, VersionConflict


class SwitchNotFound(Rejected):
    """This switch does not exist. List the switches to find its name."""

    code = "switch_not_found"
    status = 404


class AllowanceMoved(Contended):
    """Another move of money was counted concurrently. Try again."""


class NotAsApproved(VersionConflict):
    """The change differs from what the approver saw, or can't be verified. Request it again."""
