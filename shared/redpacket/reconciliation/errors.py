"""Reconciliation errors. A class's docstring is its default text for clients."""

from __future__ import annotations

from redpacket.platform.errors import Rejected


class RunNotFound(Rejected):
    """This run does not exist, or is older than 90 days. Start a new one."""

    code = "run_not_found"
    status = 404
    title = "Reconciliation run not found"
