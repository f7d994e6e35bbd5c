"""Errors of ledger."""

from __future__ import annotations

from redpacket.platform.errors import Rejected


class InsufficientFunds(Rejected):
    """The account holds less than the transfer takes."""

    code = "insufficient_funds"
    status = 402
