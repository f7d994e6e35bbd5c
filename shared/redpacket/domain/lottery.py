"""Lottery (抽奖): prizes with stock and odds, and draws that are decided once.

The cache chooses and counts, in one script; the ledger makes it durable, as with shares: every unit
of a prize, every unit of a day's stock and every attempt of a user has a row of its own or a
condition, so that nothing is won twice, whatever the cache forgets (I9).
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from enum import StrEnum

from redpacket.domain.campaign import CampaignPlan, CampaignStatus, DrawRules
from redpacket.domain.claim import ShareRef
from redpacket.domain.errors import (
    CampaignEnded,
    CampaignNotFound,
    CampaignNotStarted,
    CampaignPaused,
    InvariantViolated,
)

# As a campaign's id. Checked before an id enters a key or the script's table.
PRIZE_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")

POINT_BITS = 52
"""A random point is an integer below 2^52: exact in Lua's doubles."""

SEED_BYTES = 16

PRIZES_MAX = 100
"""Prizes of one campaign: every draw weighs all of them."""

UNITS_MAX = 1_000_000

"""Units of one prize; their rows are in order by seven digits."""

UNITS_PER_PART = 20_000
"""Of a cash prize's packet: a sweep reads a part of it within a second (docs/adr/0023)."""


class PrizeKind(StrEnum):
    """`goods` are handed over outside; a `packet` is cash, which the payout queue settles."""

    GOODS = "goods"
    PACKET = "packet"


@dataclass(frozen=True, slots=True)
class Prize:
    """One prize of a campaign.

    *total* units in all, *per_day* on one day and *per_hour* released with every hour since the
    campaign's start (0: no limit for both). *amount_fen* is a cash prize's, each unit. *attributes*
    is canonical JSON of the operator's own. *once_per_user*: a user wins it once. *packets* hold
    a cash prize's money: ids and counts of shares, in the order of unit numbers.
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


@dataclass(frozen=True, slots=True)
class DrawDay:
    """One day of a campaign's calendar, like 20270129, with its bounds: [starts, ends)."""

    name: str
    starts_at_ms: int
    ends_at_ms: int


@dataclass(frozen=True, slots=True)
class LotterySnapshot:
    """All that decides a draw, as of one *version*: a draw sees one table, whole.

    *version* goes up with every edit of the campaign or of any of its prizes.
    """

    campaign: CampaignPlan
    prizes: tuple[Prize, ...]
    version: int


@dataclass(frozen=True, slots=True)
class PageNote:
    """What was last seen beside a table: kept with it, so that one read shows a page.

    *commitment* is that of the seed of *day*, both "" before the first page. *sold_out* are ids of
    prizes, for when the cache does not know.
    """

    day: str = ""
    commitment: str = ""
    sold_out: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class PrizeStock:
    """What the ledger has of a prize's units, in total and on one day.

    *durable_no* is the highest unit number that has a row, *free* are those below it without one;
    the same for the day's units. *refunded_count* units of cash went back to the operator: they
    have a row but no winner.
    """

    prize_id: str
    durable_no: int = 0
    free: tuple[int, ...] = ()
    day_durable_no: int = 0
    day_free: tuple[int, ...] = ()
    refunded_count: int = 0

    @property
    def won_count(self) -> int:
        """How many units somebody has won."""
        return self.durable_no - len(self.free) - self.refunded_count

    @property
    def won_today_count(self) -> int:
        """How many units of the day's stock somebody has won."""
        return self.day_durable_no - len(self.day_free)


@dataclass(frozen=True, slots=True)
class Player:
    """What a user did on one day: *attempt_count* goes down by one with every accepted help."""

    attempt_count: int = 0
    win_count: int = 0
    miss_streak: int = 0


class DrawStatus(StrEnum):
    """What `lua/draw_prize.lua` answers, in order of precedence."""

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
class DrawAsk:
    """One attempt: *draw_id* names it for ever, *point* is its random number."""

    campaign_id: str
    user_id: str
    draw_id: str
    day: DrawDay
    point: int


@dataclass(frozen=True, slots=True)
class DrawOutcome:
    """The cache's answer.

    *status* is WON or MISSED also where DRAWN_BEFORE (then *is_repeat*). With WON *prize_id* and
    *unit_no*, and *day_no* where the prize has a daily stock (else 0). With both *odds*, canonical:
    "prize_id:weight,...|miss_weight" of what could be won at that moment. *table_version* is of the
    table that decided, or that refused; 0 where no table did.
    """

    status: DrawStatus
    prize_id: str | None = None
    unit_no: int = 0
    day_no: int = 0
    table_version: int = 0
    odds: str = ""
    is_repeat: bool = False


@dataclass(frozen=True, slots=True)
class Draw:
    """The durable record of one attempt, hit or miss; *prize* is a snapshot of what was won."""

    campaign_id: str
    user_id: str
    draw_id: str
    day: str
    drawn_at_ms: int
    point: int
    odds: str
    table_version: int
    prize: Prize | None = None
    unit_no: int = 0
    day_no: int = 0


class RecordDrawStatus(StrEnum):
    """What became of an attempt to make a draw durable, in order of precedence."""

    DRAWN_BEFORE = "drawn_before"
    ATTEMPTS_EXHAUSTED = "attempts_exhausted"
    WINS_EXHAUSTED = "wins_exhausted"
    WON_BEFORE = "won_before"
    UNIT_TAKEN = "unit_taken"
    UNIT_REFUNDED = "unit_refunded"
    RECORDED = "recorded"


class HelpStatus(StrEnum):
    """What became of a help, in order of precedence."""

    HELPED_BEFORE = "helped_before"
    HELPS_EXHAUSTED = "helps_exhausted"
    HELPED = "helped"


def check_prize_id(prize_id: str) -> str:
    """Return *prize_id*, or raise CampaignNotFound where it can't be one."""
    if not PRIZE_ID.fullmatch(prize_id):
        msg = "no such prize"
        raise CampaignNotFound(msg)
    return prize_id


def check_is_giving(campaign: CampaignPlan, now_ms: int) -> None:
    """Raise CampaignEnded, CampaignNotStarted or CampaignPaused where it does not give now."""
    if now_ms >= campaign.ends_at_ms:
        raise CampaignEnded("the campaign is over")
    if now_ms < campaign.starts_at_ms:
        raise CampaignNotStarted("the campaign opens later")
    if campaign.status is not CampaignStatus.ON:
        raise CampaignPaused("the campaign is turned off for now")


def draw_day(campaign: CampaignPlan, at_ms: int) -> DrawDay:
    """Return the day of *at_ms* in the campaign's time zone; a day may have 23 or 25 hours."""
    zone = _zone(campaign)
    local = datetime.fromtimestamp(at_ms / 1000, zone)
    first = local.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
    after = (first + timedelta(days=1)).replace(tzinfo=zone)
    return DrawDay(
        first.strftime("%Y%m%d"), int(first.timestamp() * 1000), int(after.timestamp() * 1000)
    )


def find_day(campaign: CampaignPlan, name: str) -> DrawDay | None:
    """Return the day called *name* if the campaign's window has a part of it."""
    try:
        noon = datetime.strptime(name, "%Y%m%d").replace(hour=12, tzinfo=_zone(campaign))
        day = draw_day(campaign, int(noon.timestamp() * 1000))
    except (ValueError, OverflowError):
        return None
    is_within = day.ends_at_ms > campaign.starts_at_ms and day.starts_at_ms < campaign.ends_at_ms
    # "2027129" can be read as a date, too.
    return day if is_within and day.name == name else None


def draw_point(seed: bytes, draw_id: str) -> int:
    """Return an attempt's random number: 52 bits of SHAKE-256 of the day's secret seed and its id.

    The user who chooses the id can't know the seed, and the seed's hash was published before.
    """
    digest = hashlib.shake_256(seed + draw_id.encode()).digest(8)
    return int.from_bytes(digest) >> (64 - POINT_BITS)


def day_commitment(seed: bytes, campaign_id: str, day: str) -> str:
    """Return what is published of a day's seed: SHA-256 of its canonical form, hex."""
    return hashlib.sha256(f"rpd1,{campaign_id},{day},{seed.hex()}".encode()).hexdigest()


def choose(odds: str, point: int) -> str | None:
    """Return the prize that *point* means by *odds*, None for a miss; as the script chooses.

    The same doubles in Lua and Python: `floor(point / 2^52 * total)`, and prizes come before the
    miss, in the order of the odds.
    """
    listed, _, miss = odds.partition("|")
    prizes = [entry.rpartition(":") for entry in listed.split(",") if entry]
    total = sum(int(weight) for _, _, weight in prizes) + int(miss)
    if total == 0:
        return None
    place = int(point / 2**POINT_BITS * total)
    for prize_id, _, weight in prizes:
        place -= int(weight)
        if place < 0:
            return prize_id
    return None


def draw_id_of(campaign_id: str, user_id: str, key_hash: str) -> str:
    """Return the name of an attempt: the same for a repeat with the same idempotency key."""
    named = f"{campaign_id}\n{user_id}\n{key_hash}".encode()
    return hashlib.sha256(named).hexdigest()[:32]


def attempts_left(rules: DrawRules, player: Player) -> int | None:
    """Return how often a user may still draw on a day; None where there is no limit."""
    if not rules.attempts_per_user_per_day:
        return None
    return max(0, rules.attempts_per_user_per_day - player.attempt_count)


def has_units_left(prize: Prize, stock: PrizeStock) -> bool:
    """Tell whether a prize can still be won, today or later; what was refunded can't."""
    return stock.durable_no - len(stock.free) < prize.total


def unit_share(prize: Prize, unit_no: int) -> ShareRef:
    """Return the share that a unit of a cash prize is."""
    share_no = unit_no
    for packet_id, count in prize.packets:
        if share_no <= count:
            return ShareRef(packet_id, share_no)
        share_no -= count
    msg = f"unit {unit_no} of {prize.campaign_id}/{prize.prize_id} has no packet"
    raise InvariantViolated(msg)


def has_prizes(odds: str) -> bool:
    """Tell whether anything could be won by *odds*."""
    return not odds.startswith("|")


def _zone(campaign: CampaignPlan) -> tzinfo:
    # Grabs import this module, too, and have no use for time zones.
    from zoneinfo import ZoneInfo

    return ZoneInfo(campaign.timezone)
