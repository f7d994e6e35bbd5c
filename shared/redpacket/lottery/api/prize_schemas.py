"""Request bodies for prizes and their stock."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from redpacket.campaigns.model import CampaignStatus
from redpacket.lottery.model.lottery import UNITS_MAX, Prize, PrizeKind
from redpacket.platform.bounds import FEN_MAX
from redpacket.platform.http.bodies import StrictBody, about, canonical, example
from redpacket.platform.http.request_fields import (
    WEIGHT_MAX,
    Description,
    Fen,
    PrizeImage,
    SeenVersion,
    Title,
)

ATTRIBUTES_MAX = 20
ATTRIBUTE_LENGTH_MAX = 200
ATTRIBUTE_INTEGER_MAX = 2**53 - 1
Units = Annotated[int, Field(ge=0, le=UNITS_MAX)]
Attribute = (
    Annotated[str, StringConstraints(max_length=ATTRIBUTE_LENGTH_MAX)]
    | Annotated[int, Field(ge=-ATTRIBUTE_INTEGER_MAX, le=ATTRIBUTE_INTEGER_MAX)]
    | bool
)
ATTRIBUTE_NAME = "^[A-Za-z0-9_-]{1,40}$"
AttributeName = Annotated[str, StringConstraints(pattern=ATTRIBUTE_NAME)]


PRIZE_KINDS = "`goods`, `packet` for cash, or `code` for one code of an uploaded list."

CODES_MAX = 500
"""Maximum codes per upload."""

CODES_BYTES_MAX = 72 * 1024
"""Maximum bytes per upload, enough for CODES_MAX codes of maximum length."""

Code = Annotated[str, StringConstraints(pattern="^[!-~]+( [!-~]+)*$", max_length=100)]


class PrizeBody(StrictBody):
    """PUT /admin/campaigns/{campaign_id}/prizes/{prize_id}.

    A *per_day* or *per_hour* of 0 means no limit. Only cash prizes have an *amount_fen*.
    """

    model_config = example(
        {"title": "¥8.88", "kind": "packet", "weight": 10, "total": 100, "amount_fen": 888}
    )

    title: Title
    kind: Annotated[Literal["goods", "packet", "code"], about(PRIZE_KINDS)]
    weight: Annotated[
        int,
        about(
            "The prize's weight in a draw, relative to the other prizes and `miss_weight`.",
            ge=0,
            le=WEIGHT_MAX,
        ),
    ]
    total: Annotated[
        Units, about("Total units, which an edit can't change. 0 for a new `code` prize.")
    ]
    per_day: Annotated[Units, about("Maximum units per day; 0: no limit.")] = 0
    per_hour: Annotated[
        Units, about("Units released each hour from the start; 0: all at once.")
    ] = 0
    amount_fen: Annotated[Fen | None, about("Cash amount of one unit; null for other kinds.")] = (
        None
    )
    image_url: Annotated[
        PrizeImage | None,
        about("URL of a picture, or the path that POST /admin/pictures returned."),
    ] = None
    description: Description = ""
    attributes: Annotated[
        dict[AttributeName, Attribute],
        about(
            f"Up to {ATTRIBUTES_MAX} custom values.",
            max_length=ATTRIBUTES_MAX,
            json_schema_extra={"additionalProperties": False},
        ),
    ] = {}  # noqa: RUF012 - pydantic copies it for each body
    once_per_user: Annotated[bool, about("Whether each user can win the prize only once.")] = False
    status: Annotated[Literal["on", "off"], about("`off` excludes the prize from draws.")] = "on"
    version: SeenVersion = None

    @model_validator(mode="after")
    def _cash_has_an_amount(self) -> PrizeBody:
        if (self.kind == "packet") != (self.amount_fen is not None):
            raise ValueError("kind packet requires amount_fen, and other kinds forbid it")
        if self.amount_fen and self.amount_fen * self.total > FEN_MAX:
            raise ValueError(f"all units together exceed the limit of {FEN_MAX} fen")
        return self

    def prize(self, campaign_id: str, prize_id: str) -> Prize:
        """Return the prize as a model value."""
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
            attributes=canonical(self.attributes),
            once_per_user=self.once_per_user,
            status=CampaignStatus(self.status),
        )


class StockBody(StrictBody):
    """POST /admin/campaigns/{campaign_id}/prizes/{prize_id}/stock."""

    model_config = example({"delta": 50})

    delta: Annotated[
        int, about("Units to add, or to remove if negative.", ge=-UNITS_MAX, le=UNITS_MAX)
    ]
    version: SeenVersion = None


class CodesBody(StrictBody):
    """POST /admin/campaigns/{campaign_id}/prizes/{prize_id}/codes."""

    model_config = example({"add": ["TEA-7KQ2-M9XD", "TEA-4HWP-T3RB"]})

    add: Annotated[
        list[Code],
        about(
            "Codes to add, one for each new unit, in order. Codes that the prize already "
            "has are skipped.",
            min_length=1,
            max_length=CODES_MAX,
            json_schema_extra={"uniqueItems": True},
        ),
    ]

    @model_validator(mode="after")
    def _has_each_once(self) -> CodesBody:
        if twice := len(self.add) - len(set(self.add)):
            raise ValueError(f"add contains {twice} duplicate codes")
        return self
