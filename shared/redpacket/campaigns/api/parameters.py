"""Parameters of the campaign and prize routes."""

from __future__ import annotations

import re

from redpacket.campaigns.errors import CampaignNotFound
from redpacket.campaigns.model import CAMPAIGN_ID, PRIZE_ID, check_campaign_id, check_prize_id
from redpacket.platform.errors import InvalidRequest
from redpacket.platform.http.parameters import cursor, path_id, required

DAY = re.compile("[0-9]{8}")
DRAW_ID = re.compile("[0-9a-f]{32}")

draw_cursor_of = cursor(
    meaning="`next` from the previous page; any other value returns the first page."
)
draw_id_of = path_id(
    *("draw_id", DRAW_ID.pattern, lambda: CampaignNotFound("no such draw")), "The caller's draw."
)


@required("path", "campaign_id", type="string", pattern=f"^{CAMPAIGN_ID.pattern}$")
def campaign_id_of(text: str) -> str:
    """The campaign."""
    return check_campaign_id(text)


@required("path", "prize_id", type="string", pattern=f"^{PRIZE_ID.pattern}$")
def prize_id_of(text: str) -> str:
    """The prize."""
    return check_prize_id(text)


@required("query", "day", type="string", pattern=f"^{DAY.pattern}$")
def day_of(text: str) -> str:
    """Campaign day, in the format of the draws' `day`."""
    if not DAY.fullmatch(text):
        raise InvalidRequest.of("day", "must be a day of eight digits, such as 20270129")
    return text
