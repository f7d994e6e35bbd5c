"""Response schemas for packets, claims, users and transfers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, NewType

from pydantic import Discriminator, Field, StringConstraints
from typing_extensions import TypeAliasType, TypedDict

from redpacket.ledger.model import TransferKind
from redpacket.packets.api import answer_fields as fields
from redpacket.packets.model.rain import PACKETS_MAX, PODIUM_MAX, ROUNDS_MAX
from redpacket.packets.split import UNIT_FEN_MAX, Split
from redpacket.packets.split.terms import COUNT_MAX
from redpacket.platform.bounds import CURSOR_MAX, FEN_MAX, LIMIT_MAX, PROOF_LIMIT_MAX
from redpacket.platform.http import answer_fields as common
from redpacket.platform.http.bodies import about

AvatarUrl = Annotated[
    Annotated[str, StringConstraints(pattern=r"^https?://[!-~]+$", max_length=1100)] | None,
    about("URL of a picture on one of `AvatarHosts`, or on the page itself.", None),
]


class PublicPerson(TypedDict):
    """A user as shown to anyone."""

    nickname: Annotated[common.Word, about("At most 32 characters.", "Alice")]
    avatar_url: AvatarUrl


class ErasablePerson(TypedDict):
    """A user as shown in the caller's own lists."""

    nickname: Annotated[common.Word | None, about("Null for an erased user.", "Alice")]
    avatar_url: AvatarUrl


class ShownPerson(PublicPerson):
    """A user as shown to other users."""

    user_token: common.UserToken


class Me(ShownPerson):
    """The caller, with the balance and the number of unread notices."""

    balance_fen: common.BalanceFen
    unread_notices: common.Unread


class Claim(TypedDict):
    """The caller's claim; the amount is durable."""

    outcome: Annotated[Literal["claimed", "already_claimed"], about("Result of the request.")]
    packet_id: fields.PacketId
    share_no: fields.ShareNo
    amount_fen: fields.ShareFen
    claimed_at_ms: common.AtMs
    payout: fields.Payout


class Admission(TypedDict):
    """Result of grabbing a two-step packet; the token opens a share while shares remain."""

    outcome: Annotated[Literal["admitted"], about("Result of the request.")]
    grab_token: Annotated[
        str,
        about(
            "Token from the grab of a two-step packet.",
            "Z3JhYi10b2tlbg",
            pattern="^[A-Za-z0-9_-]+$",
        ),
    ]
    expires_at_ms: common.EndsAtMs


Grabbed = TypeAliasType("Grabbed", Annotated[Claim | Admission, Discriminator("outcome")])


PictureFile = NewType("PictureFile", bytes)
"""Bytes of an uploaded picture."""


class UploadedPicture(TypedDict):
    """An uploaded picture; a user's cover is deleted after a day unless a packet uses it."""

    cover_url: Annotated[
        str,
        about(
            "Path to use as a packet's `cover_url`, a prize's `image_url` or an `avatar_url`.",
            "/pictures/Yb1pWk0Qm5tT3sUeNfX9_g",
        ),
    ]


class EndedPacket(TypedDict):
    """A packet that ended early. If `closing`, the rest is refunded, usually within a minute."""

    packet_id: fields.PacketId
    expires_at_ms: Annotated[
        common.AtMs, about("End of the packet; a repeated call returns the same time.")
    ]
    status: fields.PacketState


class RainRound(TypedDict):
    """Round of a rain; all packets of a round open in the same second."""

    starts_at_ms: common.AtMs
    ends_at_ms: common.EndsAtMs
    packets: Annotated[list[fields.PacketId], Field(max_length=PACKETS_MAX)]


class OnPodium(PublicPerson):
    """One of the best claims of a round."""

    amount_fen: fields.ShareFen


class ShownRound(RainRound):
    """Round with its podium."""

    podium: Annotated[
        list[OnPodium],
        about(
            "Best claims from all packets in the round, best first. Empty until the round "
            "ends; after that, shown even if `amounts_shown` hides amounts. A round with more than "
            "200,000 shares may have no podium.",
            max_length=PODIUM_MAX,
        ),
    ]


class PlannedRain(TypedDict):
    """A planned rain; a repeated call returns the same rounds."""

    rains: Annotated[
        list[RainRound], about("Rounds of the rain.", min_length=1, max_length=ROUNDS_MAX)
    ]


class RemovedPicture(TypedDict):
    """A picture that an operator removed, and its uploader."""

    picture_id: Annotated[str, about("Picture id.", "Yb1pWk0Qm5tT3sUeNfX9_g")]
    user_token: common.UserToken


class SentPacket(TypedDict):
    """A packet as sent; a repeated call returns the same packet."""

    packet_id: fields.PacketId
    status: Annotated[
        Literal["open", "unpaid"],
        about("Status after the send: `unpaid` if `pay_with` names a provider."),
    ]
    kind: fields.PacketKind
    split: fields.PacketSplit
    opening: fields.PacketOpening
    total_fen: fields.TotalFen
    count: fields.ShareCount
    greeting: fields.Greeting
    created_at_ms: common.AtMs
    starts_at_ms: common.AtMs
    expires_at_ms: common.EndsAtMs
    campaign_id: fields.OfCampaign
    amounts_shown: fields.ShownAmounts
    cover_url: fields.CoverUrl
    commitment: fields.Commitment
    share_url: Annotated[
        str,
        about(
            "Link to the packet's page, for users who may claim a share.",
            f"https://example.com/packets/{fields.SOME_PACKET_ID}",
            pattern="^https?://",
        ),
    ]
    payment_id: Annotated[fields.PaymentId | None, about("Payment that funds the packet.")]


class ShownThanks(TypedDict):
    """Thanks from a claimer; each field may be null."""

    thanks: fields.GivenThanks
    thanks_text: fields.ThanksText


class Thanked(ShownThanks):
    """The caller's thanks."""

    packet_id: fields.PacketId
    share_no: fields.ShareNo


class RemovedThanks(TypedDict):
    """Thanks whose text was removed, and their author."""

    share_no: fields.ShareNo
    user_token: common.UserToken


class Taken(ShownPerson, ShownThanks):
    """A claim without its amount."""

    share_no: fields.ShareNo
    claimed_at_ms: common.AtMs
    is_luckiest: fields.IsLuckiest
    payout: fields.Payout


class ShownClaim(Taken):
    """A claim as shown to signed-in users."""

    amount_fen: fields.ShownFen


class OwnClaim(Taken):
    """The viewer's own claim."""

    amount_fen: fields.ShareFen


SeenCount = Annotated[
    int,
    about(
        "Number of claimed shares. While a packet with more than 100 shares is open, this number, "
        "`claimed_fen`, and `remaining_count` are based only on settled claims.",
        1,
        ge=0,
        le=COUNT_MAX,
    ),
]


class Record(TypedDict):
    """A packet, with a page of its claims, sorted by partition (if sharded) and number.

    A page may have fewer claims than `limit` even if more pages follow.
    """

    packet_id: fields.PacketId
    sender: ShownPerson
    is_sender: Annotated[bool, about("Whether the caller sent the packet.")]
    kind: fields.PacketKind
    split: fields.PacketSplit
    opening: fields.PacketOpening
    is_exclusive: Annotated[
        bool,
        about("Whether only listed recipients, or members of a chat, may claim (专属红包)."),
    ]
    needs_passphrase: Annotated[
        bool, about("Whether a claim needs a passphrase, typed or spoken (口令红包).")
    ]
    greeting: fields.Greeting
    status: fields.PacketState
    total_fen: fields.TotalFen
    count: fields.ShareCount
    claimed_count: SeenCount
    claimed_fen: fields.ClaimedFen
    remaining_count: fields.RemainingCount
    refunded_fen: Annotated[common.AnyFen, about("Amount refunded to the sender.", 0)]
    refunded_at_ms: Annotated[common.AtMs | None, about("Null before a refund.", None)]
    created_at_ms: common.AtMs
    starts_at_ms: common.AtMs
    expires_at_ms: common.EndsAtMs
    campaign_id: fields.OfCampaign
    emptied_in_ms: fields.EmptiedInMs
    closed_at_ms: Annotated[
        common.AtMs | None,
        about("Time of the close or cancellation; null before, and for an emptied packet.", None),
    ]
    luckiest: Annotated[
        ShownClaim | None,
        about("Claim with the largest amount (手气最佳), once it is certain.", None),
    ]
    claims: Annotated[list[ShownClaim], Field(max_length=LIMIT_MAX)]
    next: common.Next
    amounts_shown: fields.ShownAmounts
    cover_url: fields.CoverUrl
    commitment: fields.Commitment
    mine: Annotated[OwnClaim | None, about("The caller's own claim.", None)]


class FeedClaim(PublicPerson, ShownThanks):
    """A claim as shown to anyone with the packet's id."""

    amount_fen: fields.ShownFen
    claimed_at_ms: common.AtMs
    is_luckiest: fields.IsLuckiest


class Feed(TypedDict):
    """A packet as shown to anyone with its id."""

    packet_id: fields.PacketId
    status: fields.PacketState
    kind: fields.PacketKind
    greeting: fields.Greeting
    sender: PublicPerson
    count: fields.ShareCount
    claimed_count: Annotated[int, about("Number of claimed shares.", 1, ge=0, le=COUNT_MAX)]
    remaining_count: fields.RemainingCount
    total_fen: fields.TotalFen
    claimed_fen: fields.ClaimedFen
    amounts_shown: fields.ShownAmounts
    cover_url: fields.CoverUrl
    claims: Annotated[list[FeedClaim], Field(max_length=LIMIT_MAX)]
    emptied_in_ms: fields.EmptiedInMs
    next: common.Next


class Proof(TypedDict):
    """Input of the commitment, and a page of the resulting amounts."""

    commitment: fields.Commitment
    secret_version: common.SecretVersion
    seed: Annotated[
        str,
        about(
            "Seed of the amounts; secret until the packet ends.",
            "AAECAwQFBgcICQoLDA0ODw",
            pattern="^[A-Za-z0-9_-]{22}$",
        ),
    ]
    algorithm: Split
    total_fen: fields.TotalFen
    count: fields.ShareCount
    share_fen_min: Annotated[int, about("Minimum amount of a share.", ge=1, le=FEN_MAX)]
    share_fen_max: Annotated[int, about("Maximum amount of a share.", ge=1, le=FEN_MAX)]
    unit_fen: Annotated[
        int,
        about(
            "Unit of which every amount is a multiple; 100 gives whole yuan.", ge=1, le=UNIT_FEN_MAX
        ),
    ]
    first_share_no: Annotated[
        int, about("Share number of the page's first amount.", ge=1, le=CURSOR_MAX + 1)
    ]
    amounts_fen: Annotated[
        Sequence[Annotated[int, Field(ge=1, le=FEN_MAX)]], Field(max_length=PROOF_LIMIT_MAX)
    ]
    next: common.Next


class SentItem(TypedDict):
    """A packet that the caller sent."""

    packet_id: fields.PacketId
    kind: fields.PacketKind
    greeting: fields.Greeting
    total_fen: fields.TotalFen
    count: fields.ShareCount
    claimed_count: SeenCount
    claimed_fen: fields.ClaimedFen
    at_ms: common.AtMs
    status: fields.PacketState


class ReceivedItem(TypedDict):
    """A share that the caller received."""

    packet_id: fields.PacketId
    sender: ErasablePerson
    kind: fields.PacketKind
    greeting: fields.Greeting
    amount_fen: fields.ShareFen
    is_luckiest: fields.IsLuckiest
    campaign_id: fields.OfCampaign
    prize_id: fields.PaidPrize
    at_ms: common.AtMs
    status: fields.PacketState


class Totals(TypedDict):
    """Totals of a packet list."""

    total_fen: Annotated[common.SumFen, about("Sum over the whole list, not only this page.", 8888)]
    count: Annotated[common.Count, about("Number of items in the whole list.", 10)]
    luckiest_count: Annotated[
        common.Count, about("Packets in which the user got the largest share; 0 in GET /me/sent.")
    ]
    next: common.Next


class Sent(Totals):
    """Packets that the caller sent, newest first."""

    items: Annotated[list[SentItem], about("Items on this page.")]


class Received(Totals):
    """Shares that the caller received, newest first."""

    items: Annotated[list[ReceivedItem], about("Items on this page.")]


class Transfer(TypedDict):
    """One entry of the caller's account."""

    transfer_id: Annotated[
        common.Word,
        about("The transfer's id in the ledger.", f"settle:{fields.SOME_PACKET_ID}:3"),
    ]
    kind: TransferKind
    amount_fen: Annotated[
        int,
        about("Positive for a credit, negative for a debit.", 888, ge=-FEN_MAX, le=FEN_MAX),
    ]
    counterparty: Annotated[
        common.Word, about("The other side of the transfer.", f"packet:{fields.SOME_PACKET_ID}")
    ]
    at_ms: common.AtMs


class Transfers(TypedDict):
    """Entries of the caller's account, newest first."""

    items: Annotated[list[Transfer], about("Items on this page.", max_length=LIMIT_MAX)]
    next: common.Next
