"""Errors of erasure. Each docstring is the text that clients get."""

from __future__ import annotations

from redpacket.platform.errors import Rejected


class AccountNotEmpty(Rejected):
    """The user still has money or pending transfers. Settle them first, then erase the user."""

    code = "account_not_empty"
    status = 409
