"""What users and operators see of campaigns, their prizes and their draws."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints
from typing_extensions import TypedDict

from redpacket.domain.campaign import AUDIENCE_MAX, AudienceMode, DrawBeacon, WhenSoldOut
from redpacket.domain.ledger import FEN_MAX
from redpacket.domain.lottery import POINT_BITS, PRIZES_MAX, SEED_BYTES, UNITS_MAX, PrizeKind
from redpacket.edge.answers.values import (
    SOME_DIGEST,
    AnyFen,
    AtMs,
    CampaignId,
    Count,
    Day,
    Digest,
    EndsAtMs,
    HttpsUrl,
    Next,
    PerUser,
    PrizeId,
    SecretVersion,
    ShownAmounts,
    ToldStatus,
    UserToken,
    Version,
    Weight,
    Word,
)
from redpacket.edge.schemas.prizes import ATTRIBUTE_NAME
from redpacket.flows.campaigns.read_draws import PAGE_SIZE as DRAWS_PAGE_SIZE


class Rules(TypedDict):
    """What one user may do on one day; 0 attempts or wins means no limit."""

    attempts_per_user_per_day: PerUser
    wins_per_user_per_day: Annotated[
        PerUser, Field(description="After that many wins the rest of the day is misses.")
    ]
    guaranteed_after_misses: Annotated[
        PerUser, Field(description="After so many misses in a row the next draw wins; 0: never.")
    ]
    helps_per_user_per_day: Annotated[
        PerUser,
        Field(
            description="Most attempts a day that friends can give to one user; 0: none. Users see "
            "0 where a campaign has no passphrase, or no limit of attempts."
        ),
    ]


class WonPrize(TypedDict):
    """A prize that was won."""

    prize_id: PrizeId
    title: Annotated[Word, Field(examples=["New Year"])]
    kind: Annotated[PrizeKind, Field(description="`goods`, or `packet` for cash.")]
    amount_fen: Annotated[
        Annotated[int, Field(ge=1, le=FEN_MAX)] | None,
        Field(description="Of one unit of a cash prize; null for goods.", examples=[888]),
    ]
    image_url: Annotated[HttpsUrl | None, Field(examples=[None])]


class ShownPrize(WonPrize):
    """What users and operators see of a prize."""

    description: Annotated[str, Field(examples=["For all who stayed in the city."])]
    attributes: Annotated[
        dict[Annotated[str, StringConstraints(pattern=ATTRIBUTE_NAME)], str | int | bool],
        Field(
            description="Up to 20 values of the operator's own.",
            json_schema_extra={"additionalProperties": False},
        ),
    ]
    once_per_user: Annotated[bool, Field(description="Whether a user can win it once only.")]
    status: ToldStatus
    is_sold_out: bool


class Prize(ShownPrize):
    """A prize as users see it."""

    weight: Annotated[Weight | None, Field(description="Null for a prize that is off.")]


class PrizeAdmin(ShownPrize):
    """A prize as operators see it; `issued` is what was won of `total`."""

    weight: Annotated[
        Weight,
        Field(
            description="The prize's weight in a draw, relative to the others and `miss_weight`."
        ),
    ]
    total: Annotated[
        int,
        Field(ge=0, le=UNITS_MAX, description="Units in all; `delta` changes it.", examples=[100]),
    ]
    per_day: Annotated[int, Field(ge=0, le=UNITS_MAX, description="Most units a day; 0: no limit.")]
    per_hour: Annotated[
        int,
        Field(
            ge=0,
            le=UNITS_MAX,
            description="Units set free with each hour since the start; 0: all at once.",
        ),
    ]
    issued: Annotated[
        int, Field(ge=0, le=UNITS_MAX, description="Units that were won.", examples=[1])
    ]
    issued_today: Annotated[
        Annotated[int, Field(ge=0, le=UNITS_MAX)] | None,
        Field(description="Null for a prize without a limit per day."),
    ]
    version: Annotated[
        Version,
        Field(
            description="The version that was read; another one by now is 409 `version_conflict`."
        ),
    ]


class Plan(TypedDict):
    """What an operator decides about a campaign."""

    campaign_id: CampaignId
    title: Annotated[Word, Field(examples=["New Year"])]
    description: Annotated[str, Field(examples=["For all who stayed in the city."])]
    starts_at_ms: AtMs
    ends_at_ms: EndsAtMs
    timezone: Annotated[
        Word,
        Field(
            description="Where the campaign's days begin; it can't be changed later.",
            examples=["Asia/Shanghai"],
        ),
    ]
    rules: Annotated[Rules, Field(description="What one user may do.")]
    when_sold_out: Annotated[
        WhenSoldOut,
        Field(description="Who gets the weight of a sold-out prize: the others, or the miss."),
    ]
    quota_per_user: Annotated[
        PerUser,
        Field(description="Most shares of the campaign's packets for one user; 0: no limit."),
    ]
    amounts_shown: ShownAmounts
    status: ToldStatus


ChainHash = Annotated[
    str,
    Field(
        pattern="^[0-9a-f]{64}$",
        description="The chain of the beacon.",
        examples=["52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971"],
    ),
]
RoundNo = Annotated[int, Field(ge=1, description="A round of the beacon.", examples=[32_000_000])]


class Beacon(TypedDict):
    """Which public beacon a campaign draws by; the commitment is also made of it."""

    chain_hash: ChainHash
    genesis_s: Annotated[
        int, Field(ge=0, description="When round 1 was.", examples=[1_692_803_367])
    ]
    period_s: Annotated[int, Field(ge=1, description="Seconds between rounds.", examples=[3])]
    committed_at_ms: AtMs
    timezone: Annotated[
        Word, Field(description="Where the days begin.", examples=["Asia/Shanghai"])
    ]


class DrawnBy(TypedDict):
    """What today's draws wait for."""

    draw_beacon: Annotated[
        DrawBeacon, Field(description="`day`: the draws of a day take a round of a public beacon.")
    ]
    beacon: Annotated[Beacon | None, Field(description="Null without a beacon.")]
    beacon_round: Annotated[
        RoundNo | None, Field(description="The round that decides today; null without a beacon.")
    ]
    beacon_at_ms: Annotated[
        AtMs | None,
        Field(
            description="When that round is signed: until it is there, about 2 seconds later, "
            "draws are 409 `campaign_not_started` with `Retry-After`."
        ),
    ]


class _Today(Plan, DrawnBy):
    day: Annotated[Day, Field(description="Today in the campaign's time zone.")]
    commitment: Annotated[
        Digest | None,
        Field(
            description="Fixes the secret seeds of all days, from the campaign's creation on; null "
            "without prizes."
        ),
    ]


class Campaign(_Today):
    """A campaign as its users may see it."""

    prizes: Annotated[list[Prize], Field(max_length=PRIZES_MAX)]


AudienceWord = Annotated[
    AudienceMode | None,
    Field(
        description="What the campaign's list of users is for; null while it does not count.",
        examples=["allow"],
    ),
]


class CampaignAdmin(_Today):
    """A campaign as operators see it, with its money."""

    prizes: Annotated[list[PrizeAdmin], Field(max_length=PRIZES_MAX)]
    miss_weight: Annotated[
        Weight, Field(description="The weight of winning nothing, relative to those of the prizes.")
    ]
    passphrase: Annotated[
        Word | None,
        Field(
            description="What a taker has to type or say (口令红包); at most 20 characters.",
            examples=["恭喜发财"],
        ),
    ]
    budget_fen: Annotated[
        AnyFen,
        Field(
            description="What the campaign's packets may hold together; an edit without it "
            "keeps it.",
            examples=[1_000_000],
        ),
    ]
    budget_left_fen: Annotated[
        AnyFen, Field(description="What is left of the budget.", examples=[990_000])
    ]
    version: Annotated[
        Version,
        Field(
            description="The version that was read; another one by now is 409 `version_conflict`."
        ),
    ]
    table_version: Annotated[
        Version, Field(description="The version of the prizes that decide a draw now.")
    ]
    required_claims: Annotated[
        dict[str, list[str]],
        Field(
            description="Claims of a user's token, each with the values that let them take part.",
            examples=[{"grade": ["gold"]}],
        ),
    ]
    audience_mode: AudienceWord


class Audience(TypedDict):
    """A campaign's list of users after an edit."""

    size: Annotated[
        int, Field(ge=0, le=AUDIENCE_MAX, description="How many users are on the list.")
    ]
    mode: AudienceWord


class OneDraw(TypedDict):
    """What each answer shows of a draw."""

    draw_id: Annotated[
        str, Field(pattern="^[0-9a-f]{32}$", examples=["5d41402abc4b2a76b9719d911017c592"])
    ]
    n: Annotated[
        int,
        Field(
            ge=1, description="The draw's number among the caller's draws of the day.", examples=[1]
        ),
    ]
    outcome: Annotated[Literal["won", "missed"], Field(description="What became of the request.")]
    prize: Annotated[WonPrize | None, Field(description="Null for a miss.")]
    drawn_at_ms: AtMs


AttemptsLeft = Annotated[PerUser | None, Field(description="Of today; null without a limit.")]


class Drawn(OneDraw):
    """What became of an attempt; it is durable. `prize` is null for a miss."""

    attempts_left: AttemptsLeft


class Draw(OneDraw):
    """A draw of the caller, with what decided it."""

    day: Day
    formula: Annotated[
        Word,
        Field(
            description="With the day's seed in hex for `{seed}` and the SHA-256 of the round's "
            "signature in hex for `{randomness}`, its SHA-256 begins with the 13 hex digits of "
            "`point`.",
            examples=["rpd2,{seed},none,spring,bXktdXNlci10b2tlbi0wMDAx,1"],
        ),
    ]
    point: Annotated[
        int,
        Field(ge=0, le=2**POINT_BITS - 1, description="Where the draw fell, from 0 to 2^52 - 1."),
    ]
    beacon_round: Annotated[
        RoundNo | None, Field(description="The round that decided it; null without a beacon.")
    ]
    odds: Annotated[
        Word, Field(description="The odds at the time of the draw.", examples=["10/100"])
    ]
    table_version: Annotated[
        Version, Field(description="The version of the prizes that decided the draw.")
    ]


class Draws(TypedDict):
    """The caller's draws, newest first, with what decided them."""

    user_token: UserToken
    items: Annotated[list[Draw], Field(max_length=DRAWS_PAGE_SIZE, description="The page.")]
    next: Next


class DrawProof(TypedDict):
    """The seed of a day, of which the commitment to all days was made."""

    campaign_id: CampaignId
    day: Day
    commitment: Annotated[
        Digest, Field(description="What the campaign has shown since it was created.")
    ]
    seed: Annotated[
        str,
        Field(
            pattern=f"^[0-9a-f]{{{2 * SEED_BYTES}}}$",
            description="What decided the draws; secret until the end.",
            examples=[SOME_DIGEST],
        ),
    ]
    secret_version: SecretVersion
    beacon: Annotated[Beacon | None, Field(description="Null without a beacon.")]
    beacon_round: Annotated[
        RoundNo | None,
        Field(description="The round of the day; null without a beacon, and if it never came."),
    ]
    signature: Annotated[
        Annotated[str, Field(pattern="^[0-9a-f]{96}$")] | None,
        Field(
            description="The chain's signature of the round; its SHA-256 is `randomness`.",
            examples=[None],
        ),
    ]


class Helped(TypedDict):
    """What came of a help."""

    outcome: Annotated[
        Literal["helped", "already_helped"], Field(description="What became of the request.")
    ]
    attempts_left_of_inviter: AttemptsLeft


class Preheated(TypedDict):
    """How many packets were found and loaded; closed ones are not counted."""

    packet_count: Count
    loaded_count: Count
    next: Next
