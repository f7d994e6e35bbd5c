"""Errors of lottery."""

from __future__ import annotations

from redpacket.campaigns.errors import CampaignNotStarted
from redpacket.platform.errors import Rejected


class DayNotStarted(CampaignNotStarted):
    """The day's round of the beacon comes later; *retry_after_s* says when it may be there."""

    retry_after_s = 1

    def __init__(self, message: str, retry_after_s: int) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class AttemptsExhausted(Rejected):
    """The user has drawn as often as one may on this day."""

    code = "attempts_exhausted"
    status = 403


class HelpQuotaExhausted(Rejected):
    """Friends have given the sharer as many attempts as they may on this day."""

    code = "help_quota_exhausted"
    status = 403


class SelfHelp(Rejected):
    """You can't help yourself."""

    code = "self_help"
    status = 403
