"""Request bodies for sends, early ends and pictures."""

from __future__ import annotations

from base64 import b64decode
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from redpacket.campaigns.api.schemas import AmountsWord, AtMs
from redpacket.campaigns.model import CAMPAIGN_ID
from redpacket.ledger.provider_name import ProviderName
from redpacket.packets.model.packet import PACKET_COUNT_MAX
from redpacket.packets.model.passphrase import THRESHOLD_DEFAULT
from redpacket.packets.model.picture import (
    PICTURE_BYTES_MAX,
    PICTURE_SIDE_MAX,
    Picture,
    picture_of,
)
from redpacket.packets.split import UNIT_FEN_MAX
from redpacket.packets.split.terms import COUNT_MAX
from redpacket.platform.bounds import LIFE_S_MAX
from redpacket.platform.errors import InvalidRequest
from redpacket.platform.http.bodies import StrictBody, about, example
from redpacket.platform.http.request_fields import (
    GREETING_GRAPHEMES_MAX,
    CoverUrl,
    Fen,
    Greeting,
    OwnPassphrase,
    Reason,
    UserToken,
)

if TYPE_CHECKING:
    PayWith = str
else:
    PayWith = Literal[("balance", *map(str, ProviderName))]
PaymentMethod = Annotated[
    Literal["native", "jsapi"],
    about(
        "`native`: anyone who scans the code can pay. `jsapi`: the caller pays inside the app, "
        "from their linked account."
    ),
]
DEFAULT_GREETING = "恭喜发财，大吉大利"
RECIPIENTS_MAX = 100
LIFE_S_DEFAULT = 24 * 3600


class SendBody(StrictBody):
    """POST /packets."""

    model_config = example(
        {"kind": "lucky", "total_fen": 8888, "count": 10, "greeting": "恭喜发财"}
    )

    kind: Annotated[Literal["equal", "lucky"], about("`equal` or `lucky`.")]
    total_fen: Annotated[Fen, about("Sum of all shares.")]
    count: Annotated[
        int,
        about(
            f"Number of shares; at most {PACKET_COUNT_MAX} unless a campaign pays.",
            ge=1,
            le=COUNT_MAX,
            json_schema_extra={"x-maximum-without-campaign": PACKET_COUNT_MAX},
        ),
    ]
    split: Annotated[
        Literal[
            "equal", "double_mean", "double_mean_live", "base_double_mean", "bell", "cut_points"
        ]
        | None,
        about("Split of the total (docs/guide/packets.md). `double_mean` by default for `lucky`."),
    ] = None
    share_fen_min: Annotated[Fen, about("Minimum amount of a share.")] = 1
    share_fen_max: Annotated[
        Fen | None,
        about("Maximum amount of a share; the deployment's limit if omitted."),
    ] = None
    unit_fen: Annotated[
        int,
        about(
            "Unit of which every amount is a multiple; 100 gives whole yuan.", ge=1, le=UNIT_FEN_MAX
        ),
    ] = 1
    pay_with: Annotated[
        PayWith,
        about(
            "`balance` pays from the sender's account. Otherwise the packet is `unpaid` until its "
            "payment arrives, and `cancelled` if none arrives within 15 minutes."
        ),
    ] = "balance"
    pay_method: PaymentMethod = "native"
    opening: Annotated[
        Literal["one_step", "two_step"],
        about("`two_step`: a grab admits the user, and opening claims the share."),
    ] = "one_step"
    greeting: Annotated[Greeting, about(f"At most {GREETING_GRAPHEMES_MAX} characters.")] = (
        DEFAULT_GREETING
    )
    expires_in_s: Annotated[
        int,
        about(
            "Seconds until remaining shares are refunded; by default, a campaign's packet ends "
            "with the campaign.",
            ge=1,
            le=LIFE_S_MAX,
        ),
    ] = LIFE_S_DEFAULT
    starts_at_ms: Annotated[
        AtMs | None,
        about(
            "Time before which grabs are refused, at most 30 days ahead; `expires_in_s` counts "
            "from this time. Without this field, or with a past time, the packet starts when it "
            "is sent or paid."
        ),
    ] = None
    recipients: Annotated[
        Annotated[list[UserToken], Field(min_length=1, max_length=RECIPIENTS_MAX)] | None,
        about("User tokens of the users who may claim a share (专属红包)."),
    ] = None
    passphrase: OwnPassphrase = None
    passphrase_threshold: Annotated[
        int, about("Required similarity of a long passphrase, in percent.", ge=1, le=100)
    ] = THRESHOLD_DEFAULT
    campaign_id: Annotated[
        Annotated[str, StringConstraints(pattern=f"^{CAMPAIGN_ID.pattern}$")] | None,
        about("Campaign whose budget pays for the packet."),
    ] = None
    amounts_shown: Annotated[
        AmountsWord | None,
        about(
            "`end` hides others' amounts until the packet has ended. The default "
            "is the campaign's value, or else `live`."
        ),
    ] = None
    cover_url: Annotated[
        CoverUrl | None,
        about(
            "URL of a cover image on one of the deployment's `CoverHosts`, or the path of one of "
            "the page's own covers or of a picture that the sender uploaded. Responses contain "
            "the full URL."
        ),
    ] = None

    @model_validator(mode="after")
    def _split_fits_kind(self) -> SendBody:
        if self.split and (self.kind == "equal") != (self.split == "equal"):
            raise ValueError(f"split {self.split} does not go with kind {self.kind}")
        return self


_PICTURE_LENGTH_MAX = 4 * PICTURE_BYTES_MAX // 3
PICTURE_BODY_BYTES_MAX = _PICTURE_LENGTH_MAX + 1024


class EndBody(StrictBody):
    """POST /admin/packets/{packet_id}/end."""

    model_config = example({"reason": "sent to the wrong group"})

    reason: Annotated[Reason, about("Reason for the audit log.")]


class PictureBody(StrictBody):
    """POST /me/pictures, POST /admin/pictures."""

    model_config = example(
        {"picture": "UklGRiQAAABXRUJQVlA4IBgAAAAwAQCdASoBAAEAAgA0JaQAA3AA/vuUAAA="}
    )

    picture: Annotated[
        str,
        StringConstraints(pattern=r"^[A-Za-z0-9+/]+={0,2}$", max_length=_PICTURE_LENGTH_MAX),
        about(
            f"Base64 of a still JPEG, PNG or WebP file of at most {PICTURE_BYTES_MAX // 1024} KiB "
            f"and {PICTURE_SIDE_MAX} pixels a side. Metadata is removed, "
            "except the orientation of a JPEG."
        ),
    ]
    is_avatar: Annotated[
        bool,
        about(
            "Whether the picture is for the user's profile. A cover is deleted after a day unless "
            "a packet uses it."
        ),
    ] = False

    @property
    def given(self) -> Picture:
        """Return the picture as a model value. Raises InvalidRequest."""
        try:
            content = b64decode(self.picture, validate=True)
        except ValueError as error:  # base64 text of invalid length
            raise InvalidRequest.of("picture", "is not base64") from error
        try:
            return picture_of(content)
        except ValueError as error:
            raise InvalidRequest.of("picture", str(error)) from error
