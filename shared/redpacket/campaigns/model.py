"""A campaign: the window, budget and rules under which an operator gives to many users."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeAlias
from zlib import crc32

from redpacket.campaigns.errors import CampaignNotFound

if TYPE_CHECKING:
    from redpacket.fairness.model.beacon import CampaignBeacon


class AmountsShown(StrEnum):
    """When others' amounts become visible: at once (`live`) or after the packet has ended (`end`).

    With `live`, the last share can be computed before it is claimed.
    """

    LIVE = "live"
    END = "end"


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


class AudienceMode(StrEnum):
    """What a campaign's list of users is: all who may take part, or those who may not."""

    ALLOW = "allow"
    DENY = "deny"


AUDIENCE_MAX = 1_000_000
"""Most users of a campaign's list."""

AUDIENCE_BUCKETS = 256
"""Into so many parts a list is cut: a cache loads one that it lacks in a single read."""

RequiredClaims: TypeAlias = tuple[tuple[str, tuple[str, ...]], ...]
"""Names of a token's claims, each with the values that let its user take part."""


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
    """Limits of one user for one day in the campaign's time zone; 0 means no limit.

    After *guaranteed_after_misses* misses in a row the next draw wins while a prize is left.
    *helps_per_user_per_day* caps the attempts that friends give to a user, and
    *helps_given_per_user_per_day* those that a user gives to friends; 0 means no helps.
    """

    attempts_per_user_per_day: int = 0
    wins_per_user_per_day: int = 0
    guaranteed_after_misses: int = 0
    helps_per_user_per_day: int = 3
    helps_given_per_user_per_day: int = 5


@dataclass(frozen=True, slots=True)
class CampaignPlan:
    """The part of a campaign that operators edit, except money; *beacon* is fixed at creation."""

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
    required_claims: RequiredClaims = ()
    beacon: CampaignBeacon | None = field(default=None, kw_only=True)

    @property
    def draw_beacon(self) -> DrawBeacon:
        """Whether draws take a round of a public beacon."""
        return DrawBeacon.DAY if self.beacon else DrawBeacon.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class Campaign(CampaignPlan):
    """A campaign row: each packet lowers *budget_left_fen*, each edit raises *version*.

    *audience_mode* belongs to the list of users, not to the plan; None disables the list.
    """

    budget_fen: int
    budget_left_fen: int
    version: int
    audience_mode: AudienceMode | None = None

    @property
    def plan(self) -> CampaignPlan:
        """What of it an operator decides; a `Campaign` never equals its plan."""
        return CampaignPlan(
            **{field.name: getattr(self, field.name) for field in fields(CampaignPlan)}
        )


def check_campaign_id(campaign_id: str) -> str:
    """Return *campaign_id*, or raise CampaignNotFound where it can't be one."""
    if not CAMPAIGN_ID.fullmatch(campaign_id):
        raise CampaignNotFound("no such campaign")
    return campaign_id


def audience_bucket(user_id: str) -> int:
    """Return the part of a campaign's list that a user is in; any stable hash will do."""
    return crc32(user_id.encode()) % AUDIENCE_BUCKETS


def meets(required: RequiredClaims, claims: Mapping[str, Any]) -> bool:
    """Return whether a token's claims have one of the values of each required claim.

    API Gateway writes a list as "[a b]" and every other value as text.
    """
    return all(_values(claims.get(name)).intersection(allowed) for name, allowed in required)


def _values(claim: object) -> set[str]:
    if isinstance(claim, list):
        return {str(value) for value in claim}
    if claim is None:
        return set()
    text = str(claim)
    listed = text[1:-1].split() if text.startswith("[") and text.endswith("]") else []
    return {text, *listed}


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
