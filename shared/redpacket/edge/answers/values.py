"""Values that several answers show, with their bounds, meanings and examples."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from redpacket.domain.campaign import CAMPAIGN_ID, CampaignStatus
from redpacket.domain.ledger import FEN_MAX
from redpacket.domain.lottery import PRIZE_ID
from redpacket.domain.packet import AmountsShown, Kind, Opening, PacketStatus
from redpacket.domain.packet_id import PACKET_ID
from redpacket.domain.split import Split
from redpacket.edge.campaign_parameters import DAY
from redpacket.edge.schemas.fields import PER_USER_MAX, WEIGHT_MAX
from redpacket.edge.schemas.sending import COUNT_MAX

SOME_AT_MS = 1_800_000_000_000
SOME_DIGEST = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
SOME_PACKET_ID = "q3Zb0kP2xYw7LhT9sVd1Rg1mN4cB8uQ"

Count = Annotated[int, Field(ge=0)]
PerUser = Annotated[int, Field(ge=0, le=PER_USER_MAX)]
Weight = Annotated[int, Field(ge=0, le=WEIGHT_MAX, examples=[10])]
Version = Annotated[int, Field(ge=1, le=2**53, examples=[1])]
Word = Annotated[str, StringConstraints(min_length=1)]
HttpsUrl = Annotated[str, StringConstraints(pattern="^https://")]

AnyFen = Annotated[int, Field(ge=0, le=FEN_MAX)]
ShareFen = Annotated[
    int,
    Field(
        ge=1,
        le=FEN_MAX,
        description="Of a share, of one unit of a cash prize, or of a deposit.",
        examples=[888],
    ),
]
TotalFen = Annotated[
    int, Field(ge=1, le=FEN_MAX, description="What all shares hold together.", examples=[8888])
]
SumFen = Annotated[int, Field(ge=0)]
"""Sums over packets and deposits have no cap of their own."""

BalanceFen = Annotated[SumFen, Field(description="What the account holds now.", examples=[100_000])]
AtMs = Annotated[int, Field(ge=0, description="Milliseconds since 1970.", examples=[SOME_AT_MS])]
EndsAtMs = Annotated[AtMs, Field(examples=[SOME_AT_MS + 86_400_000])]
EmptiedInMs = Annotated[
    Annotated[int, Field(ge=0)] | None,
    Field(
        description="From the start to the last claim; null while shares are left.", examples=[None]
    ),
]
ShareCount = Annotated[
    int, Field(ge=1, le=COUNT_MAX, description="How many shares.", examples=[10])
]
ShareNo = Annotated[
    int, Field(ge=1, le=COUNT_MAX, description="The number of the share, from 1.", examples=[3])
]
RemainingCount = Annotated[
    int, Field(ge=0, le=COUNT_MAX, description="Shares that are left.", examples=[9])
]

PacketId = Annotated[str, Field(pattern=f"^{PACKET_ID.pattern}$", examples=[SOME_PACKET_ID])]
CampaignId = Annotated[
    str,
    Field(
        pattern=f"^{CAMPAIGN_ID.pattern}$",
        description="A slug of the operator's choice.",
        examples=["new-year"],
    ),
]
OfCampaign = Annotated[
    CampaignId | None, Field(description="The campaign that the packet belongs to.")
]
PrizeId = Annotated[str, Field(pattern=f"^{PRIZE_ID.pattern}$", examples=["cash-888"])]
Day = Annotated[str, Field(pattern=f"^{DAY.pattern}$", examples=["20270129"])]
Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$", examples=[SOME_DIGEST])]
Commitment = Annotated[
    Digest,
    Field(description="A hash, published before the first claim, that the proof must match."),
]
PacketKind = Annotated[Kind, Field(description="`equal` or `lucky`.")]
PacketSplit = Annotated[Split, Field(description="How the total is cut; guide.md explains each.")]
PacketOpening = Annotated[
    Opening, Field(description="`two_step`: a grab admits, and opening takes the share.")
]
PacketState = Annotated[PacketStatus, Field(description="Where it stands.")]
Greeting = Annotated[
    str, Field(description="At most 50 characters.", examples=["恭喜发财，大吉大利"])
]
Payout = Annotated[
    Literal["queued", "settled"],
    Field(description="`queued` until the money is in the taker's account, then `settled`."),
]
IsLuckiest = Annotated[
    bool | None,
    Field(
        description="Whether it is the largest amount (手气最佳); null while amounts are hidden."
    ),
]
ShownFen = Annotated[
    Annotated[int, Field(ge=1, le=FEN_MAX)] | None,
    Field(
        description="Of the share; null while amounts are hidden, except the viewer's own.",
        examples=[888],
    ),
]
ClaimedFen = Annotated[
    AnyFen | None,
    Field(
        description="What the claimed shares hold; null while amounts are hidden.", examples=[888]
    ),
]
ShownAmounts = Annotated[
    AmountsShown, Field(description="`end` hides others' amounts until the packet has ended.")
]
CoverUrl = Annotated[
    HttpsUrl | None,
    Field(
        description="A picture for the cover, on one of the deployment's `CoverHosts`.",
        examples=[None],
    ),
]
Next = Annotated[
    Word | None, Field(description="The next page's `cursor`; null on the last.", examples=[None])
]
ToldStatus = Annotated[CampaignStatus, Field(description="Where it stands.")]

UserToken = Annotated[
    str,
    Field(
        pattern="^[A-Za-z0-9_-]{24}$",
        description="How other users name this user.",
        examples=["FxwabzlgU_xAyodWCCPNtYDw"],
    ),
]

SecretVersion = Annotated[
    int | None,
    Field(
        description="The version of the deployment's key that sealed the seed until now; null if "
        "it was not sealed.",
        examples=[1],
    ),
]
