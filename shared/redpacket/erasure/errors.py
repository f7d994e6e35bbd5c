"""Errors of erasure."""

from __future__ import annotations

from redpacket.platform.errors import Rejected


class AccountNotEmpty(Rejected):
    """Money is a user's, or on its way to them or from them: they can't be erased yet."""

    code = "account_not_empty"
    status = 409
