"""Errors of approvals."""

from __future__ import annotations

from redpacket.platform.errors import Rejected


class FourEyesNeeded(Rejected):
    """Another operator must decide: not who asked, and not who is paid."""

    code = "four_eyes"
    status = 403


class ApprovalNotFound(Rejected):
    """No approval has this id."""

    code = "approval_not_found"
    status = 404
