"""The bodies of prizes and their stock."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from redpacket.campaigns.model import CampaignStatus
from redpacket.ledger.model import FEN_MAX
from redpacket.lottery.model.lottery import UNITS_MAX, Prize, PrizeKind
from redpacket.packets.api.fields import WEIGHT_MAX, Description, Fen, HttpsUrl, SeenVersion, Title
from redpacket.platform.http.bodies import StrictBody, about, canonical, example

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
"""Of one call."""

CODES_BYTES_MAX = 72 * 1024
"""Of so many of the longest codes."""

Code = Annotated[str, StringConstraints(pattern="^[!-~]+( [!-~]+)*$", max_length=100)]


class PrizeBody(StrictBody):
    """PUT /admin/campaigns/{campaign_id}/prizes/{prize_id}.

    *per_day* and *per_hour* are 0 without a limit; only cash has an *amount_fen*.
    """

    model_config = example(
        {"title": "8.88 yuan", "kind": "packet", "weight": 10, "total": 100, "amount_fen": 888}
    )

    title: Title
    kind: Annotated[Literal["goods", "packet", "code"], about(PRIZE_KINDS)]
    weight: Annotated[
        int,
        about(
            "The prize's weight in a draw, relative to the others and `miss_weight`.",
            ge=0,
            le=WEIGHT_MAX,
        ),
    ]
    total: Annotated[Units, about("Units in all; `delta` changes it. 0 for a new `code`.")]
    per_day: Annotated[Units, about("Most units a day; 0: no limit.")] = 0
    per_hour: Annotated[
        Units, about("Units set free with each hour since the start; 0: all at once.")
    ] = 0
    amount_fen: Annotated[Fen | None, about("Of one unit of a cash prize; goods have none.")] = None
    image_url: HttpsUrl | None = None
    description: Description = ""
    attributes: Annotated[
        dict[AttributeName, Attribute],
        about(
            f"Up to {ATTRIBUTES_MAX} values of your own.",
            max_length=ATTRIBUTES_MAX,
            json_schema_extra={"additionalProperties": False},
        ),
    ] = {}  # noqa: RUF012 - pydantic copies it for each body
    once_per_user: Annotated[bool, about("Whether a user can win it once only.")] = False
    status: Annotated[Literal["on", "off"], about("`off` keeps it out of the draws.")] = "on"
    version: SeenVersion = None

    @model_validator(mode="after")
    def _cash_has_an_amount(self) -> PrizeBody:
        if (self.kind == "packet") != (self.amount_fen is not None):
            raise ValueError("amount_fen goes with kind packet, and with no other")
        if self.amount_fen and self.amount_fen * self.total > FEN_MAX:
            raise ValueError(f"all units together are above {FEN_MAX} fen")
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
            attributes=canonical(self.attributes),
            once_per_user=self.once_per_user,
            status=CampaignStatus(self.status),
        )


class StockBody(StrictBody):
    """POST /admin/campaigns/{campaign_id}/prizes/{prize_id}/stock."""

    model_config = example({"delta": 50})

    delta: Annotated[
        int, about("Units to add; negative ones are taken away.", ge=-UNITS_MAX, le=UNITS_MAX)
    ]
    version: SeenVersion = None


class CodesBody(StrictBody):
    """POST /admin/campaigns/{campaign_id}/prizes/{prize_id}/codes."""

    model_config = example({"add": ["TEA-7KQ2-M9XD", "TEA-4HWP-T3RB"]})

    add: Annotated[
        list[Code],
        about(
            "Codes to add, in the order of units, each of which wins one. Codes that the prize "
            "has are skipped.",
            min_length=1,
            max_length=CODES_MAX,
        ),
    ]

    @model_validator(mode="after")
    def _has_each_once(self) -> CodesBody:
        if twice := len(self.add) - len(set(self.add)):
            raise ValueError(f"add has {twice} codes more than once")
        return self
