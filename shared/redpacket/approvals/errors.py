"""Errors of approvals. Each docstring is the text that clients get."""

from __future__ import annotations

from redpacket.platform.errors import Rejected


class FourEyesNeeded(Rejected):
    """You requested this change or receive its money. Another operator must decide."""

    code = "four_eyes"
    status = 403
    title = "Another operator must decide"


class ApprovalNotFound(Rejected):
    """This approval does not exist. List the approvals to find its id."""

    code = "approval_not_found"
    status = 404
