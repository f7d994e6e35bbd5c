"""Errors of campaigns."""

from __future__ import annotations

from redpacket.platform.errors import Rejected


class NotInAudience(Rejected):
    """The campaign is for other users, or the host has refused this one."""

    code = "not_in_audience"
    status = 403


class CampaignNotFound(Rejected):
    """No such campaign, or an id that can't be one."""

    code = "campaign_not_found"
    status = 404


class CampaignNotStarted(Rejected):
    """The campaign opens later."""

    code = "campaign_not_started"
    status = 409


class CampaignEnded(Rejected):
    """The campaign is over."""

    code = "campaign_ended"
    status = 409


class CampaignPaused(Rejected):
    """An operator has turned the campaign off."""

    code = "campaign_paused"
    status = 409
