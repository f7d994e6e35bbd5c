"""What users and operators see of campaigns, their prizes and their draws."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints
from typing_extensions import TypedDict

from redpacket.campaigns.model import AUDIENCE_MAX, AudienceMode, DrawBeacon, WhenSoldOut
from redpacket.ledger.model import FEN_MAX
from redpacket.lottery.api.prize_schemas import ATTRIBUTE_NAME, PRIZE_KINDS, Code
from redpacket.lottery.model.lottery import POINT_BITS, PRIZES_MAX, SEED_BYTES, UNITS_MAX, PrizeKind
from redpacket.lottery.use_cases.cached_rains import PACKETS_MAX
from redpacket.lottery.use_cases.read_draws import PAGE_SIZE as DRAWS_PAGE_SIZE
from redpacket.packets.api import values
from redpacket.platform.http.bodies import about


class Rules(TypedDict):
    """What one user may do on one day; 0 attempts or wins means no limit."""

    attempts_per_user_per_day: values.PerUser
    wins_per_user_per_day: Annotated[
        values.PerUser, about("After that many wins the rest of the day is misses.")
    ]
    guaranteed_after_misses: Annotated[
        values.PerUser, about("After so many misses in a row the next draw wins; 0: never.")
    ]
    helps_per_user_per_day: Annotated[
        values.PerUser,
        about(
            "Most attempts a day that friends can give to one user; 0: none. Users see 0 where a "
            "campaign has no passphrase, or no limit of attempts."
        ),
    ]
    helps_given_per_user_per_day: Annotated[
        values.PerUser, about("Most helps that one user can give to friends a day; 0: none.")
    ]


class WonPrize(TypedDict):
    """A prize that was won."""

    prize_id: values.PrizeId
    title: Annotated[values.Word, Field(examples=["New Year"])]
    kind: Annotated[PrizeKind, about(PRIZE_KINDS)]
    amount_fen: Annotated[
        Annotated[int, Field(ge=1, le=FEN_MAX)] | None,
        about("Of one unit of a cash prize; null for others.", 888),
    ]
    image_url: Annotated[values.HttpsUrl | None, Field(examples=[None])]


class ShownPrize(WonPrize):
    """What users and operators see of a prize."""

    description: Annotated[str, Field(examples=["For all who stayed in the city."])]
    attributes: Annotated[
        dict[Annotated[str, StringConstraints(pattern=ATTRIBUTE_NAME)], str | int | bool],
        about(
            "Up to 20 values of the operator's own.",
            json_schema_extra={"additionalProperties": False},
        ),
    ]
    once_per_user: Annotated[bool, about("Whether a user can win it once only.")]
    status: values.ToldStatus
    is_sold_out: bool


class Prize(ShownPrize):
    """A prize as users see it."""

    weight: Annotated[values.Weight | None, about("Null for a prize that is off.")]


class PrizeAdmin(ShownPrize):
    """A prize as operators see it; `issued` is what was won of `total`."""

    weight: Annotated[
        values.Weight,
        about("The prize's weight in a draw, relative to the others and `miss_weight`."),
    ]
    total: Annotated[int, about("Units in all; `delta` changes it.", 100, ge=0, le=UNITS_MAX)]
    per_day: Annotated[int, about("Most units a day; 0: no limit.", ge=0, le=UNITS_MAX)]
    per_hour: Annotated[
        int,
        about("Units set free with each hour since the start; 0: all at once.", ge=0, le=UNITS_MAX),
    ]
    issued: Annotated[int, about("Units that were won.", 1, ge=0, le=UNITS_MAX)]
    issued_today: Annotated[
        Annotated[int, Field(ge=0, le=UNITS_MAX)] | None,
        about("Null for a prize without a limit per day."),
    ]
    version: Annotated[
        values.Version,
        about("The version that was read; another one by now is 409 `version_conflict`."),
    ]


class Plan(TypedDict):
    """What an operator decides about a campaign."""

    campaign_id: values.CampaignId
    title: Annotated[values.Word, Field(examples=["New Year"])]
    description: Annotated[str, Field(examples=["For all who stayed in the city."])]
    starts_at_ms: values.AtMs
    ends_at_ms: values.EndsAtMs
    timezone: Annotated[
        values.Word,
        about("Where the campaign's days begin; it can't be changed later.", "Asia/Shanghai"),
    ]
    rules: Annotated[Rules, about("What one user may do.")]
    when_sold_out: Annotated[
        WhenSoldOut, about("Who gets the weight of a sold-out prize: the others, or the miss.")
    ]
    quota_per_user: Annotated[
        values.PerUser, about("Most shares of the campaign's packets for one user; 0: no limit.")
    ]
    amounts_shown: values.ShownAmounts
    status: values.ToldStatus


ChainHash = Annotated[
    str,
    about(
        "The chain of the beacon.",
        "52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971",
        pattern="^[0-9a-f]{64}$",
    ),
]
RoundNo = Annotated[int, about("A round of the beacon.", 32_000_000, ge=1)]


class Beacon(TypedDict):
    """Which public beacon a campaign draws by; the commitment is also made of it."""

    chain_hash: ChainHash
    genesis_s: Annotated[int, about("When round 1 was.", 1_692_803_367, ge=0)]
    period_s: Annotated[int, about("Seconds between rounds.", 3, ge=1)]
    committed_at_ms: values.AtMs
    timezone: Annotated[values.Word, about("Where the days begin.", "Asia/Shanghai")]


class DrawnBy(TypedDict):
    """What today's draws wait for."""

    draw_beacon: Annotated[
        DrawBeacon, about("`day`: the draws of a day take a round of a public beacon.")
    ]
    beacon: Annotated[Beacon | None, about("Null without a beacon.")]
    beacon_round: Annotated[
        RoundNo | None, about("The round that decides today; null without a beacon.")
    ]
    beacon_at_ms: Annotated[
        values.AtMs | None,
        about(
            "When that round is signed: until it is there, about 2 seconds later, draws are 409 "
            "`campaign_not_started` with `Retry-After`."
        ),
    ]


class _Today(Plan, DrawnBy):
    day: Annotated[values.Day, about("Today in the campaign's time zone.")]
    commitment: Annotated[
        values.Digest | None,
        about(
            "Fixes the secret seeds of all days, from the campaign's creation on; null without "
            "prizes."
        ),
    ]


class RainPacket(TypedDict):
    """An open packet of a campaign."""

    packet_id: values.PacketId
    count: values.ShareCount


class Campaign(_Today):
    """A campaign as its users may see it."""

    prizes: Annotated[list[Prize], Field(max_length=PRIZES_MAX)]
    packets: Annotated[
        list[RainPacket],
        about(
            "Those of the campaign's newest 100 packets that are open, newest first. Empty unless "
            "the campaign is running, and without packets for named recipients.",
            max_length=PACKETS_MAX,
        ),
    ]


AudienceWord = Annotated[
    AudienceMode | None,
    about("What the campaign's list of users is for; null while it does not count.", "allow"),
]


class CampaignAdmin(_Today):
    """A campaign as operators see it, with its money."""

    prizes: Annotated[list[PrizeAdmin], Field(max_length=PRIZES_MAX)]
    miss_weight: Annotated[
        values.Weight, about("The weight of winning nothing, relative to those of the prizes.")
    ]
    passphrase: Annotated[
        values.Word | None,
        about("What a taker has to type or say (口令红包); at most 20 characters.", "恭喜发财"),
    ]
    budget_fen: Annotated[
        values.AnyFen,
        about(
            "What the campaign's packets may hold together; an edit without it keeps it.", 1_000_000
        ),
    ]
    budget_left_fen: Annotated[values.AnyFen, about("What is left of the budget.", 990_000)]
    version: Annotated[
        values.Version,
        about("The version that was read; another one by now is 409 `version_conflict`."),
    ]
    table_version: Annotated[
        values.Version, about("The version of the prizes that decide a draw now.")
    ]
    required_claims: Annotated[
        dict[str, list[str]],
        about(
            "Claims of a user's token, each with the values that let them take part.",
            {"grade": ["gold"]},
        ),
    ]
    audience_mode: AudienceWord


class Audience(TypedDict):
    """A campaign's list of users after an edit."""

    size: Annotated[int, about("How many users are on the list.", ge=0, le=AUDIENCE_MAX)]
    mode: AudienceWord


class OneDraw(TypedDict):
    """What each answer shows of a draw."""

    draw_id: Annotated[
        str, Field(pattern="^[0-9a-f]{32}$", examples=["5d41402abc4b2a76b9719d911017c592"])
    ]
    n: Annotated[int, about("The draw's number among the caller's draws of the day.", 1, ge=1)]
    outcome: Annotated[Literal["won", "missed"], about("What became of the request.")]
    prize: Annotated[WonPrize | None, about("Null for a miss.")]
    code: Annotated[
        Code | None,
        about(
            "The code that was won, for its winner alone. Null for other prizes, after the code "
            "expired, and for draws before the user was erased.",
            None,
        ),
    ]
    drawn_at_ms: values.AtMs


AttemptsLeft = Annotated[values.PerUser | None, about("Of today; null without a limit.")]


class Drawn(OneDraw):
    """What became of an attempt; it is durable. `prize` is null for a miss."""

    attempts_left: AttemptsLeft


class Draw(OneDraw):
    """A draw of the caller, with what decided it."""

    day: values.Day
    formula: Annotated[
        values.Word,
        about(
            "With the day's seed in hex for `{seed}` and the SHA-256 of the round's signature in "
            "hex for `{randomness}`, its SHA-256 begins with the 13 hex digits of `point`.",
            "rpd2,{seed},none,spring,bXktdXNlci10b2tlbi0wMDAx,1",
        ),
    ]
    point: Annotated[
        int, about("Where the draw fell, from 0 to 2^52 - 1.", ge=0, le=2**POINT_BITS - 1)
    ]
    beacon_round: Annotated[
        RoundNo | None, about("The round that decided it; null without a beacon.")
    ]
    odds: Annotated[values.Word, about("The odds at the time of the draw.", "10/100")]
    table_version: Annotated[
        values.Version, about("The version of the prizes that decided the draw.")
    ]


class Draws(TypedDict):
    """The caller's draws, newest first, with what decided them."""

    user_token: values.UserToken
    items: Annotated[list[Draw], about("The page.", max_length=DRAWS_PAGE_SIZE)]
    next: values.Next


class DrawProof(TypedDict):
    """The seed of a day, of which the commitment to all days was made."""

    campaign_id: values.CampaignId
    day: values.Day
    commitment: Annotated[values.Digest, about("What the campaign has shown since it was created.")]
    seed: Annotated[
        str,
        about(
            "What decided the draws; secret until the end.",
            values.SOME_DIGEST,
            pattern=f"^[0-9a-f]{{{2 * SEED_BYTES}}}$",
        ),
    ]
    secret_version: values.SecretVersion
    beacon: Annotated[Beacon | None, about("Null without a beacon.")]
    beacon_round: Annotated[
        RoundNo | None, about("The round of the day; null without a beacon, and if it never came.")
    ]
    signature: Annotated[
        Annotated[str, Field(pattern="^[0-9a-f]{96}$")] | None,
        about("The chain's signature of the round; its SHA-256 is `randomness`.", None),
    ]


class Helped(TypedDict):
    """What came of a help."""

    outcome: Annotated[Literal["helped", "already_helped"], about("What became of the request.")]
    attempts_left_of_inviter: AttemptsLeft


class Preheated(TypedDict):
    """How many packets were found and loaded; closed ones are not counted."""

    packet_count: values.Count
    loaded_count: values.Count
    next: values.Next
