"""Lottery (抽奖): prizes with stock and odds, and draws that are decided once.

One cache script chooses the prize and counts the draw. The ledger makes the draw durable: a row or
condition guards every unit, every unit of a daily stock, and every attempt, so nothing is won twice
(I9).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum

from redpacket.campaigns.errors import (
    CampaignEnded,
    CampaignNotFound,
    CampaignNotStarted,
    CampaignPaused,
)
from redpacket.campaigns.model import (
    AudienceMode,
    Campaign,
    CampaignPlan,
    CampaignState,
    CampaignStatus,
    DrawRules,
)
from redpacket.fairness.model.days import DrawDay, day_at, day_named
from redpacket.packets.model.claim import ShareRef
from redpacket.platform.errors import InvariantViolated, VersionConflict

PRIZES_MAX = 100
"""Maximum prizes per campaign, because every draw weighs all of them."""

UNITS_MAX = 1_000_000
"""Maximum units per prize; unit numbers have seven digits in row keys."""

UNITS_PER_SHARD = 20_000
"""Units per shard of a cash prize's packet; a sweep reads a shard in a second (docs/adr/0023)."""


CODES_KEPT_MS = 90 * 24 * 3_600_000
"""Minimum milliseconds for which winners can read their codes after the campaign's end."""


class PrizeKind(StrEnum):
    """Kinds of prizes: `goods` are delivered outside the system, and a `packet` is paid in cash.

    Each unit of a `code` prize is one code from an uploaded list, visible only to its winner.
    """

    GOODS = "goods"
    PACKET = "packet"
    CODE = "code"


@dataclass(frozen=True, slots=True)
class Prize:
    """Campaign prize with *total* units; *amount_fen* is the cash amount of each unit.

    *per_day* limits the units per day, and *per_hour* units are released each hour from the start
    (0: no limit). *attributes* is canonical JSON. *packets* lists the ids and share counts of the
    packets that hold the cash, in order of unit numbers. Codes expire at *codes_until_ms*, which
    the first upload sets.
    """

    campaign_id: str
    prize_id: str
    title: str
    kind: PrizeKind
    weight: int
    total: int
    per_day: int = 0
    per_hour: int = 0
    amount_fen: int | None = None
    image_url: str | None = None
    description: str = ""
    attributes: str = "{}"
    once_per_user: bool = False
    status: CampaignStatus = CampaignStatus.ON
    version: int = 1
    packets: tuple[tuple[str, int], ...] = ()
    codes_until_ms: int = 0


@dataclass(frozen=True, slots=True)
class CampaignSnapshot:
    """Campaign data that decides draws; every edit, except of the user list, increments *version*.

    *commitment* fixes the seeds of all days and never changes. *audience_mode* limits who may draw.
    *audience_edits* counts the edits of the user list.
    """

    campaign: CampaignPlan
    prizes: tuple[Prize, ...]
    version: int
    commitment: str = ""
    audience_mode: AudienceMode | None = None
    audience_edits: int = 0
    audience_size: int = 0


@dataclass(frozen=True, slots=True)
class PageNote:
    """Data stored with a snapshot, so that a page needs one read; *sold_out* holds prize ids."""

    sold_out: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class PrizeStock:
    """Units of a prize in the ledger, in total and for one day.

    *durable_no* is the highest unit number with a row, and *free* holds the lower numbers without
    one. *refunded_count* cash units have a row but no winner.
    """

    prize_id: str
    durable_no: int = 0
    free: tuple[int, ...] = ()
    day_durable_no: int = 0
    day_free: tuple[int, ...] = ()
    refunded_count: int = 0

    @property
    def won_count(self) -> int:
        """Return the number of won units."""
        return self.durable_no - len(self.free) - self.refunded_count

    @property
    def won_today_count(self) -> int:
        """Return the number of won units in the day's stock."""
        return self.day_durable_no - len(self.day_free)


@dataclass(frozen=True, slots=True)
class Player:
    """Counters of a user for one day; each accepted help decrements *attempt_count*."""

    attempt_count: int = 0
    win_count: int = 0
    miss_streak: int = 0
    help_count: int = 0

    @property
    def draw_count(self) -> int:
        """Return the day's number of durable draws, which never decreases."""
        return self.attempt_count + self.help_count


class DrawStatus(StrEnum):
    """Results of `lua/draw_prize.lua`, in order of precedence.

    If a key has the wrong type, the cache adapter removes all keys of the call and returns
    CAMPAIGN_ALTERED.
    """

    CAMPAIGN_ALTERED = "campaign_altered"
    CAMPAIGN_NOT_LOADED = "campaign_not_loaded"
    CAMPAIGN_ENDED = "campaign_ended"
    CAMPAIGN_NOT_STARTED = "campaign_not_started"
    CAMPAIGN_PAUSED = "campaign_paused"
    WRONG_DAY = "wrong_day"
    DRAWN_BEFORE = "drawn_before"
    ATTEMPTS_EXHAUSTED = "attempts_exhausted"
    MISSED = "missed"
    WON = "won"


@dataclass(frozen=True, slots=True)
class DrawRequest:
    """Draw attempt; *draw_id* identifies user, day and number, and *point* decides the outcome."""

    campaign_id: str
    user_id: str
    draw_id: str
    day: DrawDay
    point: int


@dataclass(frozen=True, slots=True)
class DrawOutcome:
    """The cache's answer; a repeated request also gets the status WON or MISSED.

    WON sets *prize_id*, *unit_no*, and *day_no* (0 without a daily stock). WON and MISSED
    set *odds* in the canonical form "prize_id:weight,...|miss_weight". *snapshot_version* is 0 if
    no snapshot decided the outcome.
    """

    status: DrawStatus
    prize_id: str | None = None
    unit_no: int = 0
    day_no: int = 0
    snapshot_version: int = 0
    odds: str = ""
    is_repeat: bool = False


@dataclass(frozen=True, slots=True)
class Draw:
    """Durable record of one attempt; *prize* is a copy of the prize from the time of the draw.

    *draw_no* numbers the user's draws of the day from 1 without gaps.
    """

    campaign_id: str
    user_id: str
    draw_id: str
    day: str
    draw_no: int
    drawn_at_ms: int
    point: int
    odds: str
    snapshot_version: int
    prize: Prize | None = None
    unit_no: int = 0
    day_no: int = 0


@dataclass(frozen=True, slots=True)
class PlayerState:
    """Ledger state for one draw request; *before* is an earlier draw with the same key.

    *is_member* means that the user is on the campaign's list. The host denies the user until
    *denied_until_ms*.
    """

    player: Player
    before: Draw | None = None
    is_member: bool = False
    denied_until_ms: int = 0

    @property
    def draw_no(self) -> int:
        """Return the next draw's number, which stays the same until that draw is durable."""
        return self.player.draw_count + 1


class RecordDrawStatus(StrEnum):
    """Results of recording a draw, in order of precedence.

    DRAWN_BEFORE: this key already has a draw. NUMBER_TAKEN: another request by the user already
    used the draw number.
    """

    DRAWN_BEFORE = "drawn_before"
    NUMBER_TAKEN = "number_taken"
    ATTEMPTS_EXHAUSTED = "attempts_exhausted"
    WINS_EXHAUSTED = "wins_exhausted"
    WON_BEFORE = "won_before"
    UNIT_TAKEN = "unit_taken"
    UNIT_REFUNDED = "unit_refunded"
    RECORDED = "recorded"


class HelpStatus(StrEnum):
    """Results of a help, in order of precedence."""

    HELPED_BEFORE = "helped_before"
    HELPS_EXHAUSTED = "helps_exhausted"
    GIVEN_EXHAUSTED = "given_exhausted"
    HELPED = "helped"


def check_version(version: int | None, before: Campaign | Prize | None, name: str) -> None:
    """Raise VersionConflict if *before*, described as *name*, is not at *version*.

    A *version* of None skips the check; 0, which only approvals use, requires *before* to be None.
    """
    if version is not None and version != (before.version if before else 0):
        is_now = f"is now at version {before.version}" if before else "does not exist"
        raise VersionConflict(f"The {name} {is_now}.")


def is_giving(campaign: CampaignPlan, now_ms: int) -> bool:
    """Return whether the campaign is running."""
    return campaign.state(now_ms) is CampaignState.ON


def check_is_published(campaign: CampaignPlan, now_ms: int) -> None:
    """Raise CampaignNotFound for a draft: a campaign that is off and has not started."""
    if campaign.status is not CampaignStatus.ON and now_ms < campaign.starts_at_ms:
        raise CampaignNotFound


def check_is_giving(campaign: CampaignPlan, now_ms: int) -> None:
    """Raise CampaignEnded, CampaignNotStarted or CampaignPaused unless the campaign is running."""
    state = campaign.state(now_ms)
    if state is CampaignState.ENDED:
        raise CampaignEnded
    if state is CampaignState.UPCOMING:
        raise CampaignNotStarted
    if state is CampaignState.PAUSED:
        raise CampaignPaused


def draw_day(campaign: CampaignPlan, at_ms: int) -> DrawDay:
    """Return the day of *at_ms* in the campaign's time zone; a day may have 23 or 25 hours."""
    return day_at(campaign.timezone, at_ms)


def find_day(campaign: CampaignPlan, name: str) -> DrawDay | None:
    """Return the day *name* if it overlaps the campaign's window."""
    try:
        day = day_named(campaign.timezone, name)
    except (ValueError, OverflowError):
        return None
    is_within = day.ends_at_ms > campaign.starts_at_ms and day.starts_at_ms < campaign.ends_at_ms
    # strptime also parses "2027129".
    return day if is_within and day.name == name else None


def draw_id_of(campaign_id: str, user_id: str, day: str, draw_no: int) -> str:
    """Return the id of a user's *draw_no*-th draw of a day."""
    named = f"{campaign_id}\n{user_id}\n{day}\n{draw_no}".encode()
    return hashlib.sha256(named).hexdigest()[:32]


def attempts_left(rules: DrawRules, player: Player) -> int | None:
    """Return a user's remaining attempts for the day, or None without a limit."""
    if not rules.attempts_per_user_per_day:
        return None
    return max(0, rules.attempts_per_user_per_day - player.attempt_count)


def wins_left(rules: DrawRules, player: Player) -> int | None:
    """Return a user's remaining wins for the day, or None without a limit."""
    if not rules.wins_per_user_per_day:
        return None
    return max(0, rules.wins_per_user_per_day - player.win_count)


def has_units_left(prize: Prize, stock: PrizeStock) -> bool:
    """Return whether any unit of a prize can still be won, today or later."""
    return stock.durable_no - len(stock.free) < prize.total


def unit_share(prize: Prize, unit_no: int) -> ShareRef:
    """Return the share that pays a unit of a cash prize."""
    share_no = unit_no
    for packet_id, count in prize.packets:
        if share_no <= count:
            return ShareRef(packet_id, share_no)
        share_no -= count
    raise InvariantViolated(f"unit {unit_no} of {prize.campaign_id}/{prize.prize_id} has no packet")
