"""Errors of campaigns. Each docstring is the text that clients get."""

from __future__ import annotations

from redpacket.platform.errors import Rejected


class NotInAudience(Rejected):
    """You are not in the audience of this campaign."""

    code = "not_in_audience"
    status = 403
    page_state = "refused"


class CampaignNotFound(Rejected):
    """This campaign, or its prize, unit or day, does not exist."""

    code = "campaign_not_found"
    status = 404


class CampaignNotStarted(Rejected):
    """The campaign has not started. Try again later."""

    code = "campaign_not_started"
    status = 409
    page_state = "waiting"


class CampaignEnded(Rejected):
    """The campaign has ended."""

    code = "campaign_ended"
    status = 409
    page_state = "expired"


class CampaignPaused(Rejected):
    """An operator has paused the campaign. Try again later."""

    code = "campaign_paused"
    status = 409
    page_state = "refused"
