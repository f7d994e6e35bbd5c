"""Errors of operations. Each docstring is the text that clients get."""

from __future__ import annotations

from redpacket.platform.errors import Contended, Rejected, VersionConflict


class SwitchNotFound(Rejected):
    """This switch does not exist. List the switches to find its name."""

    code = "switch_not_found"
    status = 404


class AllowanceMoved(Contended):
    """The operator moved money to the same subject concurrently. Try again."""


class NotAsApproved(VersionConflict):
    """The change no longer does what was shown, e.g. after another approval. Request it again."""
