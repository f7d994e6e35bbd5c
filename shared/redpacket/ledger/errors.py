"""Errors of ledger."""

from __future__ import annotations

from redpacket.platform.errors import Rejected


class InsufficientFunds(Rejected):
    """The account's balance is lower than the transfer."""

    code = "insufficient_funds"
    status = 402
