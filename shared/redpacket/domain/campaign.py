"""A campaign: the window, budget and rules under which an operator gives to many users."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import TYPE_CHECKING

from redpacket.domain.errors import CampaignNotFound
from redpacket.domain.packet import AmountsShown

if TYPE_CHECKING:
    from redpacket.domain.beacon import CampaignBeacon

# An operator's slug. Checked before an id enters a key.
CAMPAIGN_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")

TIMEZONE = re.compile(r"UTC|[A-Z][A-Za-z_]+(/[A-Za-z0-9_+-]+){1,2}")
"""Names of the tz database with a place; `localtime` and the like depend on the machine."""

TIMEZONE_DEFAULT = "Asia/Shanghai"

AT_MS_MAX = 4_102_444_800_000
"""The year 2100: 13 digits, which is what the cache keeps of a packet's window."""


class CampaignStatus(StrEnum):
    """Whether operators let the campaign give."""

    ON = "on"
    OFF = "off"


class WhenSoldOut(StrEnum):
    """Where the weight of a prize goes that is sold out: to the other prizes, or to a miss."""

    REDISTRIBUTE = "redistribute"
    MISS = "miss"


class DrawBeacon(StrEnum):
    """Whether draws take a round of a public beacon: one a day, or none."""

    DAY = "day"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class DrawRules:
    """What one user may do on one day in the campaign's time zone; 0 means no limit.

    After *guaranteed_after_misses* misses in a row the next draw can't miss while a prize is left;
    0 is never. *helps_per_user_per_day* caps the attempts that friends give to a sharer.
    """

    attempts_per_user_per_day: int = 0
    wins_per_user_per_day: int = 0
    guaranteed_after_misses: int = 0
    helps_per_user_per_day: int = 3


@dataclass(frozen=True, slots=True)
class CampaignPlan:
    """What an operator decides about a campaign, except its money.

    *beacon* is fixed when the campaign is created.
    """

    campaign_id: str
    title: str
    description: str
    starts_at_ms: int
    ends_at_ms: int
    timezone: str
    miss_weight: int
    rules: DrawRules
    when_sold_out: WhenSoldOut
    passphrase: str | None
    quota_per_user: int
    amounts_shown: AmountsShown
    status: CampaignStatus
    beacon: CampaignBeacon | None = field(default=None, kw_only=True)

    @property
    def draw_beacon(self) -> DrawBeacon:
        """Whether draws take a round of a public beacon."""
        return DrawBeacon.DAY if self.beacon else DrawBeacon.NONE


@dataclass(frozen=True, slots=True)
class Campaign(CampaignPlan):
    """A campaign row: *budget_left_fen* goes down by every packet, *version* up by every edit."""

    budget_fen: int
    budget_left_fen: int
    version: int

    @property
    def plan(self) -> CampaignPlan:
        """What of it an operator decides; a `Campaign` never equals its plan."""
        return CampaignPlan(
            **{field.name: getattr(self, field.name) for field in fields(CampaignPlan)}
        )


def check_campaign_id(campaign_id: str) -> str:
    """Return *campaign_id*, or raise CampaignNotFound where it can't be one."""
    if not CAMPAIGN_ID.fullmatch(campaign_id):
        msg = "no such campaign"
        raise CampaignNotFound(msg)
    return campaign_id


def is_timezone(name: str) -> bool:
    """Tell whether *name* is a zone of the tz database."""
    # Only writes of campaigns need this import, and grabs read campaigns.
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    if not TIMEZONE.fullmatch(name):
        return False
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True
