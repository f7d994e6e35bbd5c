"""Lottery errors. The docstring of a class with a *code* is its default text for clients."""

from __future__ import annotations

from redpacket.platform.errors import Rejected


class DrawRefused(Rejected):
    """Base class for refusals that only draw requests receive."""


class HelpRefused(Rejected):
    """Base class for refusals that only help requests receive."""


class AttemptsExhausted(DrawRefused):
    """You have no attempts left today. A friend's help gives you one more."""

    code = "attempts_exhausted"
    status = 403


class HelpQuotaExhausted(HelpRefused):
    """Today's limit for helps is reached. Try again tomorrow."""

    code = "help_quota_exhausted"
    status = 403


class SelfHelp(HelpRefused):
    """You cannot help yourself. Send the link to a friend."""

    code = "self_help"
    status = 403
    title = "Users cannot help themselves"
