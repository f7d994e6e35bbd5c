"""Campaign model: time window, budget and rules for packets and prizes from operators."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, TypeAlias
from zlib import crc32

from redpacket.campaigns.errors import CampaignNotFound


class AmountsShown(StrEnum):
    """Visibility of other users' amounts: immediately (`live`) or after the packet's end (`end`).

    With `live`, the last share can be computed before it is claimed.
    """

    LIVE = "live"
    END = "end"


# Pattern of campaign ids, which operators choose. Check an id before you build a key from it.
CAMPAIGN_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")

RESERVED_ID = "thanks"
"""Id that no campaign may have, because keys of thanks rows in QuotasTable start with it."""

# Like campaign ids, prize ids exclude the characters that separate fields in keys and the cache.
PRIZE_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")

TIMEZONE = re.compile(r"UTC|[A-Z][A-Za-z_]+(/[A-Za-z0-9_+-]+){1,2}")
"""UTC, or a tz database name with a place: `localtime` would depend on the machine."""

TIMEZONE_DEFAULT = "Asia/Shanghai"


WINDOW_AGE_MAX_MS = 10_000
"""Maximum age in ms of a cached campaign that claims and draws trust while reads fail."""


class CampaignStatus(StrEnum):
    """Status of a campaign, which operators set."""

    ON = "on"
    OFF = "off"


class CampaignState(StrEnum):
    """State of a campaign as users see it; it also depends on the time."""

    UPCOMING = "upcoming"
    ON = "on"
    PAUSED = "paused"
    ENDED = "ended"


class AudienceMode(StrEnum):
    """Mode of a campaign's list: only listed users, or only unlisted users, may participate."""

    ALLOW = "allow"
    DENY = "deny"


AUDIENCE_MAX = 1_000_000
"""Maximum number of users on a campaign's list."""

AUDIENCE_BUCKETS = 256
"""Number of buckets per list; each bucket is small enough to load into the cache at once."""

RequiredClaims: TypeAlias = tuple[tuple[str, tuple[str, ...]], ...]
"""Names of token claims, each with the values that allow participation."""


class WhenSoldOut(StrEnum):
    """Recipient of a sold-out prize's weight: the other prizes, or a miss."""

    REDISTRIBUTE = "redistribute"
    MISS = "miss"


@dataclass(frozen=True, slots=True)
class DrawRules:
    """Limits for a user and a day in the campaign's time zone; 0 means no limit, except for helps.

    After *guaranteed_after_misses* consecutive misses (0: never), the next draw wins if a prize is
    left and *wins_per_user_per_day* allows it.
    *helps_per_user_per_day* limits the attempts that friends give to a user.
    *helps_given_per_user_per_day* limits the attempts that a user gives to friends. If either
    help limit is 0, users cannot help.
    """

    attempts_per_user_per_day: int = 0
    wins_per_user_per_day: int = 0
    guaranteed_after_misses: int = 0
    helps_per_user_per_day: int = 3
    helps_given_per_user_per_day: int = 5


@dataclass(frozen=True, slots=True)
class CampaignPlan:
    """Part of a campaign that operators edit, without the budget."""

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

    def state(self, now_ms: int) -> CampaignState:
        """Return the state at *now_ms*."""
        if now_ms >= self.ends_at_ms:
            return CampaignState.ENDED
        if now_ms < self.starts_at_ms:
            return CampaignState.UPCOMING
        return CampaignState.ON if self.status is CampaignStatus.ON else CampaignState.PAUSED


@dataclass(frozen=True, slots=True, kw_only=True)
class Campaign(CampaignPlan):
    """Stored campaign. Each packet lowers *budget_left_fen*, and each edit raises *version*.

    *audience_mode* belongs to the list of users, not to the plan; None disables the list.
    *first_starts_at_ms* is the earliest start that the campaign ever had; rows from earlier
    releases have 0.
    """

    budget_fen: int
    budget_left_fen: int
    version: int
    audience_mode: AudienceMode | None = None
    first_starts_at_ms: int = field(default=0, compare=False)

    @property
    def plan(self) -> CampaignPlan:
        """Editable part of the campaign, for comparison with another plan."""
        return CampaignPlan(
            **{field.name: getattr(self, field.name) for field in fields(CampaignPlan)}
        )


def check_campaign_id(campaign_id: str) -> str:
    """Return *campaign_id*, or raise CampaignNotFound if it is malformed or reserved."""
    if not CAMPAIGN_ID.fullmatch(campaign_id) or campaign_id == RESERVED_ID:
        raise CampaignNotFound
    return campaign_id


def check_prize_id(prize_id: str) -> str:
    """Return *prize_id*, or raise CampaignNotFound if it is malformed."""
    if not PRIZE_ID.fullmatch(prize_id):
        raise CampaignNotFound
    return prize_id


def audience_bucket(user_id: str) -> int:
    """Return the bucket for a user in a campaign's list; any stable hash works."""
    return crc32(user_id.encode()) % AUDIENCE_BUCKETS


def meets(required: RequiredClaims, claims: Mapping[str, Any]) -> bool:
    """Return whether the token's claims contain an allowed value for each required claim.

    API Gateway writes a list as "[a b]" and any other value as a string. If the issuer marks the
    email address as unverified, the address matches no allowed value.
    """
    if str(claims.get("email_verified")).lower() == "false":
        claims = {name: value for name, value in claims.items() if name != "email"}
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
    """Return whether *name* is a zone in the tz database."""
    # Import lazily: GrabFunction loads this module, but only campaign edits need zones.
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    if not TIMEZONE.fullmatch(name):
        return False
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True
