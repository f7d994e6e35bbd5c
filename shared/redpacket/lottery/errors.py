"""Errors of the lottery."""

from __future__ import annotations

from redpacket.campaigns.errors import CampaignNotStarted
from redpacket.platform.errors import Rejected


class DayNotStarted(CampaignNotStarted):
    """The day's beacon round is not available yet; *retry_after_s* estimates the wait."""

    retry_after_s = 1

    def __init__(self, message: str, retry_after_s: int) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class AttemptsExhausted(Rejected):
    """The user has no attempts left on this day."""

    code = "attempts_exhausted"
    status = 403


class HelpQuotaExhausted(Rejected):
    """The inviter or the helper has reached the day's limit of helps."""

    code = "help_quota_exhausted"
    status = 403


class SelfHelp(Rejected):
    """Users cannot help themselves."""

    code = "self_help"
    status = 403
