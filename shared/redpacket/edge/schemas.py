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
from redpacket.domain.passphrase import THRESHOLD_DEFAULT, can_be_said
from redpacket.domain.split import UNIT_FEN_MAX
from redpacket.domain.text import composed, is_visible
from redpacket.domain.user_id import HOST_ID, check_host_id
from redpacket.edge.api import HttpRequest, user_ids
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


class _Body(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class SendBody(_Body):
    """POST /packets."""

    kind: Literal["equal", "lucky"]
    total_fen: Fen
    count: Annotated[int, Field(ge=1, le=COUNT_MAX)]
    split: (
        Literal[
            "equal", "double_mean", "double_mean_live", "base_double_mean", "bell", "cut_points"
        ]
        | None
    ) = None
    share_fen_min: Fen = 1
    share_fen_max: Fen | None = None
    unit_fen: Annotated[int, Field(ge=1, le=UNIT_FEN_MAX)] = 1
    opening: Literal["one_step", "two_step"] = "one_step"
    greeting: Annotated[
        str,
        _length(GREETING_GRAPHEMES_MAX),
        _text(GREETING_GRAPHEMES_MAX),
        Field(json_schema_extra=_VISIBLE_TEXT),
    ] = DEFAULT_GREETING
    expires_in_s: Annotated[int, Field(ge=1, le=LIFE_S_MAX)] = LIFE_S_DEFAULT
    recipients: (
        Annotated[list[UserToken], Field(min_length=1, max_length=RECIPIENTS_MAX)] | None
    ) = None
    passphrase: Passphrase | None = None
    passphrase_threshold: Annotated[int, Field(ge=1, le=100)] = THRESHOLD_DEFAULT
    campaign_id: Annotated[str, StringConstraints(pattern=f"^{CAMPAIGN_ID.pattern}$")] | None = None

    @model_validator(mode="after")
    def _split_fits_kind(self) -> SendBody:
        if self.split and (self.kind == "equal") != (self.split == "equal"):
            msg = f"split {self.split} does not go with kind {self.kind}"
            raise ValueError(msg)
        return self


class RulesBody(_Body):
    """What one user may do on one day; 0 means no limit."""

    attempts_per_user_per_day: PerUser = 0
    wins_per_user_per_day: PerUser = 0
    guaranteed_after_misses: PerUser = 0
    helps_per_user_per_day: PerUser = HELPS_DEFAULT


class CampaignBody(_Body):
    """PUT /admin/campaigns/{campaign_id}.

    Without *budget_fen* the budget stays as it is, and is 0 at first.
    """

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
    starts_at_ms: AtMs
    ends_at_ms: AtMs
    timezone: Annotated[
        str,
        StringConstraints(max_length=64),
        AfterValidator(_timezone),
        Field(json_schema_extra={"pattern": f"^({TIMEZONE.pattern})$"}),
    ] = TIMEZONE_DEFAULT
    miss_weight: Annotated[int, Field(ge=0, le=WEIGHT_MAX)] = 0
    rules: RulesBody = RulesBody()
    when_sold_out: Literal["redistribute", "miss"] = "redistribute"
    passphrase: Passphrase | None = None
    budget_fen: Annotated[int, Field(ge=0, le=FEN_MAX)] | None = None
    quota_per_user: PerUser = 0
    status: Literal["on", "off"]
    version: Annotated[int, Field(ge=1)] | None = None

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

    title: Annotated[
        str,
        _length(TITLE_GRAPHEMES_MAX),
        _text(TITLE_GRAPHEMES_MAX),
        AfterValidator(_not_empty),
        Field(json_schema_extra={**_VISIBLE_TEXT, "pattern": r"\S"}),
    ]
    kind: Literal["goods", "packet"]
    weight: Annotated[int, Field(ge=0, le=WEIGHT_MAX)]
    total: Units
    per_day: Units = 0
    per_hour: Units = 0
    amount_fen: Fen | None = None
    image_url: HttpsUrl | None = None
    description: Annotated[
        str,
        _length(DESCRIPTION_GRAPHEMES_MAX),
        _text(DESCRIPTION_GRAPHEMES_MAX),
        Field(json_schema_extra=_VISIBLE_TEXT),
    ] = ""
    attributes: Annotated[
        dict[AttributeName, Attribute],
        Field(max_length=ATTRIBUTES_MAX, json_schema_extra={"additionalProperties": False}),
    ] = {}
    once_per_user: bool = False
    status: Literal["on", "off"] = "on"
    version: Annotated[int, Field(ge=1)] | None = None

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

    delta: Annotated[int, Field(ge=-UNITS_MAX, le=UNITS_MAX)]
    version: Annotated[int, Field(ge=1)] | None = None


class DrawBody(_Body):
    """POST /campaigns/{campaign_id}/draws; the body is empty."""


class HelpBody(_Body):
    """POST /campaigns/{campaign_id}/helps; *transcript* is what was typed or spoken."""

    inviter_token: UserToken
    transcript: Annotated[str, StringConstraints(max_length=200)]


class GrabBody(_Body):
    """POST /packets/{packet_id}/grab; a passphrase is ignored where the packet has none."""

    passphrase: Annotated[str, StringConstraints(max_length=200)] | None = None


class OpenBody(_Body):
    """POST /packets/{packet_id}/open."""

    grab_token: Annotated[str, StringConstraints(max_length=200)]


class DepositBody(_Body):
    """POST /admin/deposits; *user* is whom the host calls so: the subject of their token."""

    user: Annotated[
        str,
        AfterValidator(_host_id),
        Field(json_schema_extra={"pattern": f"^{HOST_ID.pattern}$"}),
    ]
    amount_fen: Fen


class SwitchBody(_Body):
    """PUT /admin/switches/{name}; *reason* is for operators who find it off."""

    on: bool
    reason: Annotated[
        str,
        _length(REASON_GRAPHEMES_MAX),
        _text(REASON_GRAPHEMES_MAX),
        Field(json_schema_extra=_VISIBLE_TEXT),
    ] = ""


class ProfileBody(_Body):
    """PUT /me/profile."""

    nickname: Annotated[
        str,
        _length(NICKNAME_GRAPHEMES_MAX),
        _text(NICKNAME_GRAPHEMES_MAX),
        AfterValidator(_not_empty),
        Field(json_schema_extra={**_VISIBLE_TEXT, "pattern": r"\S"}),
    ]
    avatar_url: HttpsUrl | None = None


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
    key_hash = request.key_hash
    return Request(request.user.user_id, key_hash, body_hash(request.json()))
