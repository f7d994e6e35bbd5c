"""Errors of campaigns."""

from __future__ import annotations

from redpacket.platform.errors import Rejected


class NotInAudience(Rejected):
    """The campaign is for other users, or the host has refused this one."""

    code = "not_in_audience"
    status = 403


class CampaignNotFound(Rejected):
    """The campaign does not exist, or the id is malformed."""

    code = "campaign_not_found"
    status = 404


class CampaignNotStarted(Rejected):
    """The campaign has not started."""

    code = "campaign_not_started"
    status = 409


class CampaignEnded(Rejected):
    """The campaign has ended."""

    code = "campaign_ended"
    status = 409


class CampaignPaused(Rejected):
    """An operator has paused the campaign."""

    code = "campaign_paused"
    status = 409
