"""Parameters of routes of campaigns and prizes."""

from __future__ import annotations

import re

from redpacket.campaigns.errors import CampaignNotFound
from redpacket.campaigns.model import CAMPAIGN_ID, check_campaign_id
from redpacket.lottery.model.lottery import PRIZE_ID, check_prize_id
from redpacket.packets.api.packet_ids import packet_ids
from redpacket.packets.model.packet_id import PACKET_ID
from redpacket.platform.errors import InvalidRequest, invalid_cursor
from redpacket.platform.http.parameters import cursor, optional, required

DAY = re.compile("[0-9]{8}")
DRAW_ID = re.compile("[0-9a-f]{32}")

# Id of the last loaded packet, and "." with a shard if the packet has more shards to load.
PREHEAT_CURSOR = re.compile(rf"{PACKET_ID.pattern}(\.[0-9]{{1,2}})?")

draw_cursor_of = cursor(
    meaning="`next` of the previous page; any other value returns the first page."
)


@required("path", "campaign_id", type="string", pattern=f"^{CAMPAIGN_ID.pattern}$")
def campaign_id_of(text: str) -> str:
    """The campaign."""
    return check_campaign_id(text)


@required("path", "prize_id", type="string", pattern=f"^{PRIZE_ID.pattern}$")
def prize_id_of(text: str) -> str:
    """The prize."""
    return check_prize_id(text)


@required("path", "draw_id", type="string", pattern=f"^{DRAW_ID.pattern}$")
def draw_id_of(text: str) -> str:
    """The caller's draw."""
    if not DRAW_ID.fullmatch(text):
        raise CampaignNotFound("no such draw")
    return text


@required("query", "day", type="string", pattern=f"^{DAY.pattern}$")
def day_of(text: str) -> str:
    """Day of the campaign, as in its draws."""
    if not DAY.fullmatch(text):
        raise InvalidRequest.of("day", "must be a day of eight digits, such as 20270129")
    return text


@optional("query", "cursor", missing=None, type="string", pattern=f"^{PREHEAT_CURSOR.pattern}$")
def preheat_cursor_of(text: str) -> str:
    """`next` of the previous preheat, which ran out of time."""
    if not PREHEAT_CURSOR.fullmatch(text):
        raise invalid_cursor()
    packet_ids().check(text.partition(".")[0])
    return text
