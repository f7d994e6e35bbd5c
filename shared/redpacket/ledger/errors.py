"""Errors of the ledger. Each docstring is the text that clients get."""

from __future__ import annotations

from redpacket.platform.errors import Malformed, Rejected


class InsufficientFunds(Rejected):
    """The account's balance is too low. Deposit money or choose a lower amount."""

    code = "insufficient_funds"
    status = 402


class ChannelUnavailable(Malformed):
    """This deployment does not offer this provider. Choose another one."""

    code = "channel_unavailable"
    status = 422
