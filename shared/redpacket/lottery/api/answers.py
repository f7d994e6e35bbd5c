"""Response types for campaigns, prizes and draws."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints
from typing_extensions import TypedDict

from redpacket.campaigns.model import (
    AUDIENCE_MAX,
    AudienceMode,
    CampaignState,
    WhenSoldOut,
)
from redpacket.fairness.model.days import SEED_BYTES
from redpacket.lottery.api.prize_schemas import ATTRIBUTE_NAME, PRIZE_KINDS, Code
from redpacket.lottery.model.lottery import PRIZES_MAX, UNITS_MAX, PrizeKind
from redpacket.lottery.model.odds import POINT_BITS
from redpacket.lottery.use_cases.cached_rains import PACKETS_MAX
from redpacket.lottery.use_cases.read_draws import PAGE_SIZE as DRAWS_PAGE_SIZE
from redpacket.packets.api import answer_fields as fields
from redpacket.packets.api.answers import ShownRound
from redpacket.packets.model.rain import SHOWN_MAX
from redpacket.platform.bounds import FEN_MAX
from redpacket.platform.http import answer_fields as common
from redpacket.platform.http.bodies import about


class Rules(TypedDict):
    """Daily limits for one user; 0 attempts or wins means no limit."""

    attempts_per_user_per_day: common.PerUser
    wins_per_user_per_day: Annotated[
        common.PerUser, about("Maximum wins; later draws that day miss. 0: no limit.")
    ]
    guaranteed_after_misses: Annotated[
        common.PerUser,
        about("Consecutive misses after which the next draw wins if a prize is left; 0: never."),
    ]
    helps_per_user_per_day: Annotated[
        common.PerUser,
        about(
            "Maximum attempts per day that friends can give to one user. Users see 0 if the "
            "campaign has no passphrase or no attempt limit."
        ),
    ]
    helps_given_per_user_per_day: Annotated[
        common.PerUser, about("Maximum helps per day that one user can give to friends; 0: none.")
    ]


class WonPrize(TypedDict):
    """Won prize."""

    prize_id: fields.PrizeId
    title: Annotated[common.Word, Field(examples=["New Year"])]
    kind: Annotated[PrizeKind, about(PRIZE_KINDS)]
    amount_fen: Annotated[
        Annotated[int, Field(ge=1, le=FEN_MAX)] | None,
        about("Cash amount of one unit; null for other kinds.", 888),
    ]
    image_url: Annotated[common.PrizeImage | None, Field(examples=[None])]


class ShownPrize(WonPrize):
    """Prize fields that both users and operators see."""

    description: Annotated[str, Field(examples=["For all who stayed in the city."])]
    attributes: Annotated[
        dict[Annotated[str, StringConstraints(pattern=ATTRIBUTE_NAME)], str | int | bool],
        about(
            "Up to 20 custom values.",
            json_schema_extra={"additionalProperties": False},
        ),
    ]
    once_per_user: Annotated[bool, about("Whether each user can win the prize only once.")]
    status: fields.ToldStatus
    is_sold_out: bool


class Prize(ShownPrize):
    """Prize as shown to users."""

    weight: Annotated[
        common.Weight | None, about("Weight of the prize in a draw; null if the prize is off.")
    ]
    probability: Annotated[
        float,
        about(
            "Probability that a draw wins this prize, from the weights of the prizes and the miss; "
            "0 if the prize is sold out or off. A user's limits and a daily or hourly stock may "
            "change the probability.",
            0.25,
            ge=0,
            le=1,
        ),
    ]


class PrizeAdmin(ShownPrize):
    """Prize as operators see it. Of its `total` units, `issued` are already won."""

    weight: Annotated[
        common.Weight,
        about("The prize's weight in a draw, relative to other prizes and `miss_weight`."),
    ]
    total: Annotated[
        int, about("Total units, including those already won.", 100, ge=0, le=UNITS_MAX)
    ]
    per_day: Annotated[int, about("Maximum units per day; 0: no limit.", ge=0, le=UNITS_MAX)]
    per_hour: Annotated[
        int,
        about("Units released each hour from the start; 0: all at once.", ge=0, le=UNITS_MAX),
    ]
    issued: Annotated[int, about("Units already won.", 1, ge=0, le=UNITS_MAX)]
    issued_today: Annotated[
        Annotated[int, Field(ge=0, le=UNITS_MAX)] | None,
        about("Null for a prize without a daily limit."),
    ]
    version: Annotated[
        common.Version,
        about("Send this version with an edit; an old one returns 409 `version_conflict`."),
    ]


class Plan(TypedDict):
    """Campaign settings."""

    campaign_id: fields.CampaignId
    title: Annotated[common.Word, Field(examples=["New Year"])]
    description: Annotated[str, Field(examples=["For all who stayed in the city."])]
    starts_at_ms: common.AtMs
    ends_at_ms: common.EndsAtMs
    timezone: Annotated[
        common.Word,
        about(
            "Time zone of the campaign's days; fixed once the campaign has prizes.", "Asia/Shanghai"
        ),
    ]
    rules: Annotated[Rules, about("Limits for one user.")]
    when_sold_out: Annotated[
        WhenSoldOut,
        about("Whether a sold-out prize's weight goes to the other prizes or the miss."),
    ]
    quota_per_user: Annotated[
        common.PerUser,
        about("Maximum shares that one user can claim in the campaign; 0: no limit."),
    ]
    amounts_shown: fields.ShownAmounts
    status: fields.ToldStatus


class _Today(Plan):
    day: Annotated[fields.Day, about("Today in the campaign's time zone.")]
    commitment: Annotated[
        common.Digest | None,
        about(
            "Commitment to the secret seeds of all days, fixed at the campaign's creation; null "
            "without prizes."
        ),
    ]


class RainPacket(TypedDict):
    """Open packet of a campaign."""

    packet_id: fields.PacketId
    count: fields.ShareCount


class Campaign(_Today):
    """Campaign as shown to anyone."""

    state: Annotated[
        CampaignState, about("`paused`: the campaign is off between its start and end.")
    ]

    prizes: Annotated[list[Prize], Field(max_length=PRIZES_MAX)]
    packets: Annotated[
        list[RainPacket],
        about(
            "Up to 100 open packets from the campaign's newest 500, without packets for named "
            "recipients or for one chat. Empty unless the campaign is running.",
            max_length=PACKETS_MAX,
        ),
    ]
    rains: Annotated[
        list[ShownRound],
        about(
            "Planned rounds, earliest first; each is listed until five minutes after its end. "
            "`packets` is empty until three seconds before the start. Grabs before a round's start "
            "return 409.",
            max_length=SHOWN_MAX,
        ),
    ]


AudienceWord = Annotated[
    AudienceMode | None,
    about("Whether only listed users or only all others may take part; null: everyone.", "allow"),
]


class CampaignAdmin(_Today):
    """Campaign as shown to operators, with its budget."""

    prizes: Annotated[list[PrizeAdmin], Field(max_length=PRIZES_MAX)]
    miss_weight: Annotated[
        common.Weight, about("The weight of a miss, relative to the prizes' weights.")
    ]
    passphrase: Annotated[
        common.Word | None,
        about(
            "Passphrase that friends say or type to help (助力); grabs and draws do not need it.",
            "恭喜发财",
        ),
    ]
    budget_fen: Annotated[
        common.AnyFen,
        about(
            "Maximum total of the campaign's packets; unchanged if an edit omits it.",
            1_000_000,
        ),
    ]
    budget_left_fen: Annotated[common.AnyFen, about("The remaining budget.", 990_000)]
    version: Annotated[
        common.Version,
        about("Send this version with an edit; an old one returns 409 `version_conflict`."),
    ]
    table_version: Annotated[common.Version, about("Version of the prizes that draws now use.")]
    required_claims: Annotated[
        dict[str, list[str]],
        about(
            "Claims that a user's token must have, each with its accepted values.",
            {"grade": ["gold"]},
        ),
    ]
    audience_mode: AudienceWord
    audience_size: Annotated[
        int,
        about(
            "Number of users on the list; an erased user still counts.", 500, ge=0, le=AUDIENCE_MAX
        ),
    ]
    closed_packets: Annotated[
        int | None,
        about(
            "After an edit: how many of the campaign's first 10,000 packets closed with unclaimed "
            "shares and stay closed. Null if none did, and in other responses.",
            None,
        ),
    ]


class Audience(TypedDict):
    """Campaign's list of users."""

    size: Annotated[int, about("Number of users on the list.", ge=0, le=AUDIENCE_MAX)]
    mode: AudienceWord


class CheckedAudience(Audience):
    """Campaign's list of users, and whether one user is on it."""

    is_listed: Annotated[bool, about("Whether the user is on the list.")]


class OneDraw(TypedDict):
    """Draw fields that all responses share."""

    draw_id: Annotated[
        str, Field(pattern="^[0-9a-f]{32}$", examples=["5d41402abc4b2a76b9719d911017c592"])
    ]
    n: Annotated[int, about("The draw's number among the caller's draws that day.", 1, ge=1)]
    outcome: Annotated[Literal["won", "missed"], about("Result of the request.")]
    prize: Annotated[WonPrize | None, about("Null for a miss.")]
    code: Annotated[
        Code | None,
        about(
            "The won code, shown only to the winner. Null if the prize has no code, the code has "
            "expired, or the user was erased after the draw.",
            None,
        ),
    ]
    drawn_at_ms: common.AtMs


class GoodsAddress(TypedDict):
    """Delivery address for the caller's goods; null before it is entered and after an erasure."""

    status: Annotated[Literal["won", "handed_over", "forfeited"], about("State of the goods.")]
    name: Annotated[str | None, about("Recipient's name.", "王小明")]
    phone: Annotated[str | None, about("Recipient's phone number.", "+86 138 0013 8000")]
    address: Annotated[str | None, about("Recipient's address.", "上海市世纪大道 1 号")]


AttemptsLeft = Annotated[common.PerUser | None, about("Attempts left today; null without a limit.")]


WinsLeft = Annotated[
    common.PerUser | None,
    about("Wins left today, null without a limit; with 0, every draw misses."),
]


class Drawn(OneDraw):
    """Durable result of an attempt; `prize` is null for a miss."""

    attempts_left: AttemptsLeft
    wins_left_today: WinsLeft


class Draw(OneDraw):
    """One of the caller's draws, with the data that decided the outcome."""

    day: fields.Day
    formula: Annotated[
        common.Word,
        about(
            "Template; after `{seed}` is replaced with the day's seed in hex, the SHA-256 begins "
            "with the 13 hex digits of `point`.",
            "rpd2,{seed},none,spring,bXktdXNlci10b2tlbi0wMDAx,1",
        ),
    ]
    point: Annotated[
        int, about("The draw's random point, from 0 to 2^52 - 1.", ge=0, le=2**POINT_BITS - 1)
    ]
    odds: Annotated[
        common.Word,
        about(
            "The weights at the time of the draw: `prize_id:weight,...|miss_weight`.",
            "phone:1,cash:30|69",
        ),
    ]
    table_version: Annotated[
        common.Version, about("The version of the prizes that decided the draw.")
    ]


class Draws(TypedDict):
    """The caller's draws, newest first, with the facts that decided the results."""

    user_token: common.UserToken
    items: Annotated[list[Draw], about("Items on this page.", max_length=DRAWS_PAGE_SIZE)]
    next: common.Next
    attempts_left: AttemptsLeft
    wins_left_today: WinsLeft


class DrawProof(TypedDict):
    """Seed of one day, which the campaign's commitment covers."""

    campaign_id: fields.CampaignId
    day: fields.Day
    commitment: Annotated[
        common.Digest, about("The commitment that was made when the campaign was created.")
    ]
    seed: Annotated[
        str,
        about(
            "The seed of the day's draws; secret until a minute after the day ends.",
            common.SOME_DIGEST,
            pattern=f"^[0-9a-f]{{{2 * SEED_BYTES}}}$",
        ),
    ]
    secret_version: common.SecretVersion


class Helped(TypedDict):
    """Result of helping a friend."""

    outcome: Annotated[Literal["helped", "already_helped"], about("Result of the request.")]
    attempts_left_of_inviter: AttemptsLeft


class Preheated(TypedDict):
    """Numbers of packets found and loaded, excluding closed packets."""

    packet_count: common.Count
    loaded_count: common.Count
    next: common.Next
