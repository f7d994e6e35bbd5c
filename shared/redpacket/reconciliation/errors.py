"""Errors of reconciliation."""

from __future__ import annotations

from redpacket.platform.errors import Rejected


class RunNotFound(Rejected):
    """No reconciliation has this id."""

    code = "run_not_found"
    status = 404
