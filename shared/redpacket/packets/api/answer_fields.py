"""Packet field types that several responses share, with bounds, descriptions and examples."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from redpacket.campaigns.api.parameters import DAY
from redpacket.campaigns.model import CAMPAIGN_ID, PRIZE_ID, AmountsShown, CampaignStatus
from redpacket.packets.api.packet_ids import PAYMENT_ID
from redpacket.packets.model.packet import Kind, Opening, PacketStatus
from redpacket.packets.model.packet_id import PACKET_ID
from redpacket.packets.split import Split
from redpacket.packets.split.terms import COUNT_MAX
from redpacket.platform.bounds import FEN_MAX
from redpacket.platform.http import answer_fields as common
from redpacket.platform.http.bodies import about

SOME_PACKET_ID = "q3Zb0kP2xYw7LhT9sVd1Rg1mN4cB8uQ"
SOME_PAYMENT_ID = "0b6f2c9d4e8a41d7b3f5a6c1e2d3f4a5"

ShareFen = Annotated[
    int,
    about(
        "Amount of a share, of one unit of a cash prize, or of a deposit.", 888, ge=1, le=FEN_MAX
    ),
]
TotalFen = Annotated[int, about("Sum of all shares.", 8888, ge=1, le=FEN_MAX)]
EmptiedInMs = Annotated[
    Annotated[int, Field(ge=0)] | None,
    about(
        "Milliseconds from the packet's start or payment, whichever is later, to the last claim. "
        "Null unless all shares are claimed. With more than 100 shares, null until all claims are "
        "settled.",
        None,
    ),
]
ShareCount = Annotated[int, about("Number of shares.", 10, ge=1, le=COUNT_MAX)]
ShareNo = Annotated[int, about("Share number, from 1.", 3, ge=1, le=COUNT_MAX)]
RemainingCount = Annotated[int, about("Number of remaining shares.", 9, ge=0, le=COUNT_MAX)]
PacketId = Annotated[str, Field(pattern=f"^{PACKET_ID.pattern}$", examples=[SOME_PACKET_ID])]
PaymentId = Annotated[str, Field(pattern=f"^{PAYMENT_ID.pattern}$", examples=[SOME_PAYMENT_ID])]
CampaignId = Annotated[
    str, about("Slug that the operator chooses.", "new-year", pattern=f"^{CAMPAIGN_ID.pattern}$")
]
OfCampaign = Annotated[CampaignId | None, about("Campaign of the packet.")]
PrizeId = Annotated[str, Field(pattern=f"^{PRIZE_ID.pattern}$", examples=["cash-888"])]
PaidPrize = Annotated[PrizeId | None, about("Prize that the share pays.")]
Day = Annotated[str, Field(pattern=f"^{DAY.pattern}$", examples=["20270129"])]
Commitment = Annotated[
    common.Digest,
    about("Hash that is published before the first claim and that the proof must match."),
]
PacketKind = Annotated[Kind, about("`equal` or `lucky`.")]
PacketSplit = Annotated[Split, about("Split of the total (docs/guide/packets.md).")]
PacketOpening = Annotated[
    Opening, about("`two_step`: a grab admits the user, and opening claims the share.")
]
PacketState = Annotated[PacketStatus, about("Current status.")]
Greeting = Annotated[str, about("At most 50 characters.", "恭喜发财，大吉大利")]
Payout = Annotated[
    Literal["queued", "settled"],
    about("`queued` until the claimer's account is credited, then `settled`."),
]
IsLuckiest = Annotated[
    bool | None,
    about("Whether the share is the largest (手气最佳); null while amounts are hidden."),
]
GivenThanks = Annotated[
    common.Word | None,
    about("Emoji with which the claimer thanked the sender, or null.", None),
]
ThanksText = Annotated[
    str | None,
    about(
        "Text with which the claimer thanked the sender; null if there is none or it was removed.",
        "谢谢老板",
    ),
]
ShownFen = Annotated[
    Annotated[int, Field(ge=1, le=FEN_MAX)] | None,
    about("Amount of the share; null for other users' shares while amounts are hidden.", 888),
]
ClaimedFen = Annotated[
    common.AnyFen | None, about("Sum of the claimed shares; null while amounts are hidden.", 888)
]
ShownAmounts = Annotated[
    AmountsShown, about("`end` hides others' amounts until the packet has ended.")
]
CoverUrl = Annotated[
    Annotated[str, StringConstraints(pattern=r"^https?://[!-~]+$", max_length=1100)] | None,
    about("URL of a cover image on one of `CoverHosts`, or on the page itself.", None),
]
ToldStatus = Annotated[CampaignStatus, about("Current status.")]
