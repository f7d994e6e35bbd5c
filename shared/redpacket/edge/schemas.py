"""The bodies of the HTTP contract and of queue messages, validated strictly.

Strict: a boolean, a float or a string is not an integer, and a field outside the contract is
an error. Only doors that read bodies import this; pydantic costs a cold start 77 ms (LOCAL.md).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

import regex
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    model_validator,
)

from redpacket.domain.campaign import (
    AT_MS_MAX,
    CAMPAIGN_ID,
    TIMEZONE,
    TIMEZONE_DEFAULT,
    CampaignPlan,
    CampaignStatus,
    DrawRules,
    WhenSoldOut,
    is_timezone,
)
from redpacket.domain.errors import Forbidden, InvalidRequest
from redpacket.domain.ledger import FEN_MAX
from redpacket.domain.lottery import UNITS_MAX, Prize, PrizeKind
from redpacket.domain.packet import AmountsShown
from redpacket.domain.passphrase import THRESHOLD_DEFAULT, can_be_said
from redpacket.domain.split import UNIT_FEN_MAX
from redpacket.domain.text import composed, is_visible
from redpacket.domain.user_id import HOST_ID, check_host_id
from redpacket.edge.parameters import key_hash_of
from redpacket.edge.request import HttpRequest, RequestOf, user_ids
from redpacket.ports.accounts import Request

DEFAULT_GREETING = "恭喜发财，大吉大利"
GREETING_GRAPHEMES_MAX = 50
NICKNAME_GRAPHEMES_MAX = 32
PASSPHRASE_GRAPHEMES_MAX = 20
RECIPIENTS_MAX = 100
REASON_GRAPHEMES_MAX = 100
TITLE_GRAPHEMES_MAX = 50
DESCRIPTION_GRAPHEMES_MAX = 500
PER_USER_MAX = 1_000_000
WEIGHT_MAX = 1_000_000_000
ATTRIBUTES_MAX = 20
ATTRIBUTE_LENGTH_MAX = 200
ATTRIBUTE_INTEGER_MAX = 2**53 - 1
_CODE_POINTS_PER_GRAPHEME_MAX = 8
_VISIBLE_TEXT = {"format": "visible-text"}
"""A format of our own in openapi.json, where no pattern says what `_text` checks."""

HELPS_DEFAULT = DrawRules().helps_per_user_per_day

LIFE_S_MAX = 7 * 24 * 3600
"""Money is not locked away for longer than a week."""

LIFE_S_DEFAULT = 24 * 3600
COUNT_MAX = 1_000_000

Model = TypeVar("Model", bound=BaseModel)


def _length(graphemes_max: int) -> StringConstraints:
    return StringConstraints(max_length=graphemes_max * _CODE_POINTS_PER_GRAPHEME_MAX)


def _text(graphemes_max: int) -> AfterValidator:
    def check(text: str) -> str:
        text = composed(text)
        if not is_visible(text):
            msg = "has control, bidi, zero-width, blank or unassigned characters"
            raise ValueError(msg)
        count = len(regex.findall(r"\X", text))
        if count > graphemes_max or len(text) > graphemes_max * _CODE_POINTS_PER_GRAPHEME_MAX:
            msg = f"is longer than {graphemes_max} characters"
            raise ValueError(msg)
        return text

    return AfterValidator(check)


def _not_empty(text: str) -> str:
    if not text:
        msg = "is empty"
        raise ValueError(msg)
    return text


def _sayable(text: str) -> str:
    if not can_be_said(text):
        msg = "has no letter or digit that could be said"
        raise ValueError(msg)
    return text


def _user_token(text: str) -> str:
    if not user_ids().has_made(text):
        msg = "is not a user's token"
        raise ValueError(msg)
    return text


def _host_id(text: str) -> str:
    try:
        return check_host_id(text)
    except Forbidden:
        msg = "can't be a user id"
        raise ValueError(msg) from None


def _timezone(name: str) -> str:
    if not is_timezone(name):
        msg = "is not a time zone, like Asia/Shanghai"
        raise ValueError(msg)
    return name


Fen = Annotated[int, Field(ge=1, le=FEN_MAX)]
AtMs = Annotated[int, Field(ge=0, le=AT_MS_MAX)]
PerUser = Annotated[int, Field(ge=0, le=PER_USER_MAX)]


HttpsUrl = Annotated[str, StringConstraints(pattern=r"^https://[!-~]+$", max_length=1024)]

AmountsWord = Literal["live", "end"]

UserToken = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{24}$"), AfterValidator(_user_token)
]
"""A user's id, as GET /me shows it; one that was accepted once is accepted for ever."""

Passphrase = Annotated[
    str,
    _length(PASSPHRASE_GRAPHEMES_MAX),
    _text(PASSPHRASE_GRAPHEMES_MAX),
    AfterValidator(_sayable),
    Field(json_schema_extra=_VISIBLE_TEXT),
]
OwnPassphrase = Annotated[
    Passphrase | None,
    Field(description="What a taker has to type or say (口令红包); at most 20 characters."),
]
SeenVersion = Annotated[
    Annotated[int, Field(ge=1)] | None,
    Field(description="The version that was read; another one by now is 409 `version_conflict`."),
]


GatewayChannel = Annotated[
    Literal["host", "wechat"],
    Field(description="By which gateway; one that is not set up is 422 `channel_unavailable`."),
]
PaymentMethod = Annotated[
    Literal["native", "jsapi"],
    Field(
        description="`native`: anybody who scans the code pays. `jsapi`: the caller pays inside "
        "the app, from the account that they bound."
    ),
]


def _example(body: dict[str, Any]) -> ConfigDict:
    """Show openapi.json a body that works."""
    return ConfigDict(json_schema_extra={"example": body})


class _Body(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class SendBody(_Body):
    """POST /packets."""

    model_config = _example(
        {"kind": "lucky", "total_fen": 8888, "count": 10, "greeting": "恭喜发财"}
    )

    kind: Annotated[Literal["equal", "lucky"], Field(description="`equal` or `lucky`.")]
    total_fen: Annotated[Fen, Field(description="What all shares hold together.")]
    count: Annotated[int, Field(ge=1, le=COUNT_MAX, description="How many shares.")]
    split: Annotated[
        Literal[
            "equal", "double_mean", "double_mean_live", "base_double_mean", "bell", "cut_points"
        ]
        | None,
        Field(
            description="How the total is cut; guide.md explains each. `double_mean` by default "
            "for `lucky`."
        ),
    ] = None
    share_fen_min: Annotated[Fen, Field(description="The least that a share may hold.")] = 1
    share_fen_max: Annotated[
        Fen | None,
        Field(
            description="The most that a share may hold; the deployment's limit where it is "
            "missing."
        ),
    ] = None
    unit_fen: Annotated[
        int,
        Field(
            ge=1,
            le=UNIT_FEN_MAX,
            description="Every amount is a multiple of it: 100 gives whole yuan.",
        ),
    ] = 1
    pay_with: Annotated[
        Literal["balance", "host", "wechat"],
        Field(
            description="`balance`: from the sender's account. Else the packet is `unpaid` until "
            "its payment comes, and `cancelled` after 15 minutes."
        ),
    ] = "balance"
    pay_method: PaymentMethod = "native"
    opening: Annotated[
        Literal["one_step", "two_step"],
        Field(description="`two_step`: a grab admits, and opening takes the share."),
    ] = "one_step"
    greeting: Annotated[
        str,
        _length(GREETING_GRAPHEMES_MAX),
        _text(GREETING_GRAPHEMES_MAX),
        Field(
            description=f"At most {GREETING_GRAPHEMES_MAX} characters.",
            json_schema_extra=_VISIBLE_TEXT,
        ),
    ] = DEFAULT_GREETING
    expires_in_s: Annotated[
        int,
        Field(
            ge=1,
            le=LIFE_S_MAX,
            description="Then the rest goes back; by default a campaign's packet ends with it.",
        ),
    ] = LIFE_S_DEFAULT
    recipients: Annotated[
        Annotated[list[UserToken], Field(min_length=1, max_length=RECIPIENTS_MAX)] | None,
        Field(description="User tokens of those who may take a share (专属红包)."),
    ] = None
    passphrase: OwnPassphrase = None
    passphrase_threshold: Annotated[
        int,
        Field(ge=1, le=100, description="How alike a long passphrase must sound, in percent."),
    ] = THRESHOLD_DEFAULT
    campaign_id: Annotated[
        Annotated[str, StringConstraints(pattern=f"^{CAMPAIGN_ID.pattern}$")] | None,
        Field(description="The campaign whose budget pays for the packet."),
    ] = None
    amounts_shown: Annotated[
        AmountsWord | None,
        Field(
            description="`end` hides others' amounts until the packet has ended. As its campaign "
            "says where it is missing, or else `live`."
        ),
    ] = None
    cover_url: Annotated[
        HttpsUrl | None,
        Field(description="A picture for the cover, on one of the deployment's `CoverHosts`."),
    ] = None

    @model_validator(mode="after")
    def _split_fits_kind(self) -> SendBody:
        if self.split and (self.kind == "equal") != (self.split == "equal"):
            msg = f"split {self.split} does not go with kind {self.kind}"
            raise ValueError(msg)
        return self


class RulesBody(_Body):
    """What one user may do on one day; 0 means no limit."""

    attempts_per_user_per_day: Annotated[PerUser, Field(description="0: no limit.")] = 0
    wins_per_user_per_day: Annotated[
        PerUser,
        Field(description="0: no limit. After that many wins the rest of the day is misses."),
    ] = 0
    guaranteed_after_misses: Annotated[
        PerUser,
        Field(description="After so many misses in a row the next draw wins; 0: never."),
    ] = 0
    helps_per_user_per_day: Annotated[
        PerUser, Field(description="Most attempts a day that friends can give to one user.")
    ] = HELPS_DEFAULT


class CampaignBody(_Body):
    """PUT /admin/campaigns/{campaign_id}.

    Without *budget_fen* the budget stays as it is, and is 0 at first.
    """

    model_config = _example(
        {
            "title": "New Year",
            "starts_at_ms": 1800000000000,
            "ends_at_ms": 1800086400000,
            "timezone": "Asia/Shanghai",
            "miss_weight": 90,
            "rules": {"attempts_per_user_per_day": 3, "wins_per_user_per_day": 1},
            "budget_fen": 1000000,
            "quota_per_user": 1,
            "status": "on",
        }
    )

    title: Annotated[
        str,
        _length(TITLE_GRAPHEMES_MAX),
        _text(TITLE_GRAPHEMES_MAX),
        AfterValidator(_not_empty),
        Field(json_schema_extra={**_VISIBLE_TEXT, "pattern": r"\S"}),
    ]
    description: Annotated[
        str,
        _length(DESCRIPTION_GRAPHEMES_MAX),
        _text(DESCRIPTION_GRAPHEMES_MAX),
        Field(json_schema_extra=_VISIBLE_TEXT),
    ] = ""
    starts_at_ms: Annotated[AtMs, Field(description="Before this time a grab or draw is refused.")]
    ends_at_ms: Annotated[AtMs, Field(description="The end of the campaign and of its packets.")]
    timezone: Annotated[
        str,
        StringConstraints(max_length=64),
        AfterValidator(_timezone),
        Field(
            description="Where the campaign's days begin; it can't be changed later.",
            json_schema_extra={"pattern": f"^({TIMEZONE.pattern})$"},
        ),
    ] = TIMEZONE_DEFAULT
    miss_weight: Annotated[
        int,
        Field(
            ge=0,
            le=WEIGHT_MAX,
            description="The weight of winning nothing, relative to those of the prizes.",
        ),
    ] = 0
    rules: Annotated[RulesBody, Field(description="What one user may do.")] = RulesBody()
    when_sold_out: Annotated[
        Literal["redistribute", "miss"],
        Field(description="Who gets the weight of a sold-out prize: the others, or the miss."),
    ] = "redistribute"
    passphrase: OwnPassphrase = None
    budget_fen: Annotated[
        Annotated[int, Field(ge=0, le=FEN_MAX)] | None,
        Field(
            description="What the campaign's packets may hold together; an edit without it "
            "keeps it."
        ),
    ] = None
    quota_per_user: Annotated[
        PerUser,
        Field(description="Most shares of the campaign's packets for one user; 0: no limit."),
    ] = 0
    amounts_shown: Annotated[
        AmountsWord,
        Field(
            description="`end` hides others' amounts until a packet has ended; for the campaign's "
            "packets that are sent from now on."
        ),
    ] = "end"
    status: Annotated[Literal["on", "off"], Field(description="`off` refuses grabs and draws.")]
    version: SeenVersion = None

    @model_validator(mode="after")
    def _ends_after_its_start(self) -> CampaignBody:
        if self.ends_at_ms <= self.starts_at_ms:
            msg = "ends_at_ms is not after starts_at_ms"
            raise ValueError(msg)
        return self

    def plan(self, campaign_id: str) -> CampaignPlan:
        """Return what the operator decides, in the domain's words."""
        return CampaignPlan(
            campaign_id=campaign_id,
            title=self.title,
            description=self.description,
            starts_at_ms=self.starts_at_ms,
            ends_at_ms=self.ends_at_ms,
            timezone=self.timezone,
            miss_weight=self.miss_weight,
            rules=DrawRules(
                self.rules.attempts_per_user_per_day,
                self.rules.wins_per_user_per_day,
                self.rules.guaranteed_after_misses,
                self.rules.helps_per_user_per_day,
            ),
            when_sold_out=WhenSoldOut(self.when_sold_out),
            passphrase=self.passphrase,
            quota_per_user=self.quota_per_user,
            amounts_shown=AmountsShown(self.amounts_shown),
            status=CampaignStatus(self.status),
        )


Units = Annotated[int, Field(ge=0, le=UNITS_MAX)]
Attribute = (
    Annotated[str, StringConstraints(max_length=ATTRIBUTE_LENGTH_MAX)]
    | Annotated[int, Field(ge=-ATTRIBUTE_INTEGER_MAX, le=ATTRIBUTE_INTEGER_MAX)]
    | bool
)
ATTRIBUTE_NAME = "^[A-Za-z0-9_-]{1,40}$"
AttributeName = Annotated[str, StringConstraints(pattern=ATTRIBUTE_NAME)]


class PrizeBody(_Body):
    """PUT /admin/campaigns/{campaign_id}/prizes/{prize_id}.

    *per_day* and *per_hour* are 0 without a limit; only cash has an *amount_fen*.
    """

    model_config = _example(
        {"title": "8.88 yuan", "kind": "packet", "weight": 10, "total": 100, "amount_fen": 888}
    )

    title: Annotated[
        str,
        _length(TITLE_GRAPHEMES_MAX),
        _text(TITLE_GRAPHEMES_MAX),
        AfterValidator(_not_empty),
        Field(json_schema_extra={**_VISIBLE_TEXT, "pattern": r"\S"}),
    ]
    kind: Annotated[Literal["goods", "packet"], Field(description="`goods`, or `packet` for cash.")]
    weight: Annotated[
        int,
        Field(
            ge=0,
            le=WEIGHT_MAX,
            description="The prize's weight in a draw, relative to the others and `miss_weight`.",
        ),
    ]
    total: Annotated[Units, Field(description="Units in all; `delta` changes it.")]
    per_day: Annotated[Units, Field(description="Most units a day; 0: no limit.")] = 0
    per_hour: Annotated[
        Units,
        Field(description="Units set free with each hour since the start; 0: all at once."),
    ] = 0
    amount_fen: Annotated[
        Fen | None, Field(description="Of one unit of a cash prize; goods have none.")
    ] = None
    image_url: HttpsUrl | None = None
    description: Annotated[
        str,
        _length(DESCRIPTION_GRAPHEMES_MAX),
        _text(DESCRIPTION_GRAPHEMES_MAX),
        Field(json_schema_extra=_VISIBLE_TEXT),
    ] = ""
    attributes: Annotated[
        dict[AttributeName, Attribute],
        Field(
            max_length=ATTRIBUTES_MAX,
            description=f"Up to {ATTRIBUTES_MAX} values of your own.",
            json_schema_extra={"additionalProperties": False},
        ),
    ] = {}
    once_per_user: Annotated[bool, Field(description="Whether a user can win it once only.")] = (
        False
    )
    status: Annotated[
        Literal["on", "off"], Field(description="`off` keeps it out of the draws.")
    ] = "on"
    version: SeenVersion = None

    @model_validator(mode="after")
    def _cash_has_an_amount(self) -> PrizeBody:
        if (self.kind == "packet") != (self.amount_fen is not None):
            msg = "amount_fen goes with kind packet, and with no other"
            raise ValueError(msg)
        if self.amount_fen and self.amount_fen * self.total > FEN_MAX:
            msg = f"all units together are above {FEN_MAX} fen"
            raise ValueError(msg)
        return self

    def prize(self, campaign_id: str, prize_id: str) -> Prize:
        """Return what the operator decides, in the domain's words."""
        return Prize(
            campaign_id=campaign_id,
            prize_id=prize_id,
            title=self.title,
            kind=PrizeKind(self.kind),
            weight=self.weight,
            total=self.total,
            per_day=self.per_day,
            per_hour=self.per_hour,
            amount_fen=self.amount_fen,
            image_url=self.image_url,
            description=self.description,
            attributes=_canonical(self.attributes),
            once_per_user=self.once_per_user,
            status=CampaignStatus(self.status),
        )


class StockBody(_Body):
    """POST /admin/campaigns/{campaign_id}/prizes/{prize_id}/stock."""

    model_config = _example({"delta": 50})

    delta: Annotated[
        int,
        Field(
            ge=-UNITS_MAX,
            le=UNITS_MAX,
            description="Units to add; negative ones are taken away.",
        ),
    ]
    version: SeenVersion = None


class DrawBody(_Body):
    """POST /campaigns/{campaign_id}/draws; the body is empty."""


class HelpBody(_Body):
    """POST /campaigns/{campaign_id}/helps; *transcript* is what was typed or spoken."""

    model_config = _example({"inviter_token": "FxwabzlgU_xAyodWCCPNtYDw", "transcript": "恭喜发财"})

    inviter_token: Annotated[UserToken, Field(description="The friend's `user_token`.")]
    transcript: Annotated[
        str,
        StringConstraints(max_length=200),
        Field(description="What the user typed, or what speech recognition returned."),
    ]


class GrabBody(_Body):
    """POST /packets/{packet_id}/grab; a passphrase is ignored where the packet has none."""

    model_config = _example({"passphrase": "恭喜发财"})

    passphrase: Annotated[
        Annotated[str, StringConstraints(max_length=200)] | None,
        Field(description="What the user typed, or what speech recognition returned."),
    ] = None


class OpenBody(_Body):
    """POST /packets/{packet_id}/open."""

    model_config = _example({"grab_token": "Z3JhYi10b2tlbg"})

    grab_token: Annotated[
        str,
        StringConstraints(max_length=200),
        Field(description="What a grab of a packet in two steps answered."),
    ]


class DepositBody(_Body):
    """POST /admin/deposits; *user* is whom the host calls so: the subject of their token."""

    model_config = _example({"user": "alice", "amount_fen": 100000})

    user: Annotated[
        str,
        AfterValidator(_host_id),
        Field(
            description="The account owner's id: the subject of their token.",
            json_schema_extra={"pattern": f"^{HOST_ID.pattern}$"},
        ),
    ]
    amount_fen: Annotated[Fen, Field(description="What the account gets.")]


class PaymentBody(_Body):
    """POST /me/payments."""

    model_config = _example({"amount_fen": 8888, "channel": "wechat", "method": "native"})

    amount_fen: Annotated[Fen, Field(description="What the account gets.")]
    channel: GatewayChannel
    method: PaymentMethod


class WithdrawalBody(_Body):
    """POST /me/withdrawals."""

    model_config = _example({"amount_fen": 888, "channel": "wechat"})

    amount_fen: Annotated[Fen, Field(description="What leaves the account.")]
    channel: GatewayChannel


class CodeBody(_Body):
    """POST /me/wechat and POST /auth/wechat: what WeChat gave to the client."""

    model_config = _example({"code": "code-alice"})

    code: Annotated[
        str,
        StringConstraints(pattern=r"^[!-~]+$", max_length=256),
        Field(description="Of `wx.login()` or of the authorization page; it works once."),
    ]


class ConsentBody(_Body):
    """POST /me/wechat/authorization."""

    model_config = _example({"display_name": "小明"})

    display_name: Annotated[
        str,
        _length(NICKNAME_GRAPHEMES_MAX),
        _text(NICKNAME_GRAPHEMES_MAX),
        AfterValidator(_not_empty),
        Field(
            description="What the user is called here, for WeChat to show.",
            json_schema_extra={**_VISIBLE_TEXT, "pattern": r"\S"},
        ),
    ]


class SwitchBody(_Body):
    """PUT /admin/switches/{name}; *reason* is for operators who find it off."""

    model_config = _example({"on": False, "reason": "payouts are being checked"})

    on: Annotated[
        bool,
        Field(description="False refuses what the switch names, everywhere within ten seconds."),
    ]
    reason: Annotated[
        str,
        _length(REASON_GRAPHEMES_MAX),
        _text(REASON_GRAPHEMES_MAX),
        Field(description="For operators who find it off.", json_schema_extra=_VISIBLE_TEXT),
    ] = ""


class ProfileBody(_Body):
    """PUT /me/profile."""

    model_config = _example({"nickname": "Alice", "avatar_url": None})

    nickname: Annotated[
        str,
        _length(NICKNAME_GRAPHEMES_MAX),
        _text(NICKNAME_GRAPHEMES_MAX),
        AfterValidator(_not_empty),
        Field(
            description=f"At most {NICKNAME_GRAPHEMES_MAX} characters.",
            json_schema_extra={**_VISIBLE_TEXT, "pattern": r"\S"},
        ),
    ]
    avatar_url: Annotated[
        HttpsUrl | None,
        Field(description="An https address on one of the deployment's `AvatarHosts`."),
    ] = None


def body_of(model: type[Model], request: RequestOf[Model]) -> Model:
    """Read the body that the route declares. Raises InvalidRequest."""
    return parse(model, request.json())


def parse(model: type[Model], body: dict[str, Any]) -> Model:
    """Validate *body*. Raises InvalidRequest, which names every field that is wrong."""
    try:
        return model.model_validate(body)
    except ValidationError as error:
        errors = [
            {
                "field": ".".join(str(part) for part in found["loc"]) or "body",
                "message": found["msg"].removeprefix("Value error, "),
            }
            for found in error.errors(include_url=False, include_context=False, include_input=False)
        ]
        raise InvalidRequest(errors) from None


def _canonical(value: Mapping[str, Any]) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def body_hash(body: dict[str, Any]) -> str:
    """Hash what was asked, whatever the order of its fields."""
    return hashlib.sha256(_canonical(body).encode()).hexdigest()


def idempotent_request(request: HttpRequest) -> Request:
    """Return who asks under which key, and a hash of the body. Raises IdempotencyKeyMissing."""
    key_hash = key_hash_of(request)
    return Request(request.user.user_id, key_hash, body_hash(request.json()))
