"""What users see of packets, of claims, of each other and of their own books."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Discriminator, Field
from typing_extensions import TypeAliasType, TypedDict

from redpacket.domain.ledger import FEN_MAX, TransferKind
from redpacket.domain.split import UNIT_FEN_MAX, Split
from redpacket.edge.answers.payments import HostPrompt, PaymentId, Prompt
from redpacket.edge.answers.values import (
    SOME_PACKET_ID,
    AnyFen,
    AtMs,
    BalanceFen,
    ClaimedFen,
    Commitment,
    Count,
    CoverUrl,
    EmptiedInMs,
    EndsAtMs,
    Greeting,
    HttpsUrl,
    IsLuckiest,
    Next,
    OfCampaign,
    PacketId,
    PacketKind,
    PacketOpening,
    PacketSplit,
    PacketState,
    Payout,
    RemainingCount,
    SecretVersion,
    ShareCount,
    ShareFen,
    ShareNo,
    ShownAmounts,
    ShownFen,
    SumFen,
    TotalFen,
    UserToken,
    Word,
)
from redpacket.edge.page_sizes import CURSOR_MAX, LIMIT_MAX, PROOF_LIMIT_MAX
from redpacket.edge.schemas.bodies import about
from redpacket.edge.schemas.sending import COUNT_MAX

AvatarUrl = Annotated[
    HttpsUrl | None, about("An https address on one of the deployment's `AvatarHosts`.", None)
]


class PublicPerson(TypedDict):
    """A user as everybody may see them."""

    nickname: Annotated[Word, about("At most 32 characters.", "Alice")]
    avatar_url: AvatarUrl


class ShownPerson(PublicPerson):
    """A user as other users see them."""

    user_token: UserToken


class Me(ShownPerson):
    """The caller, with their balance."""

    balance_fen: BalanceFen


class Claim(TypedDict):
    """A taker's claim; the amount is durable."""

    outcome: Annotated[Literal["claimed", "already_claimed"], about("What became of the request.")]
    packet_id: PacketId
    share_no: ShareNo
    amount_fen: ShareFen
    claimed_at_ms: AtMs
    payout: Payout


class Admission(TypedDict):
    """Step one of two: the token opens a share, if one is left by then."""

    outcome: Annotated[Literal["admitted"], about("What became of the request.")]
    grab_token: Annotated[
        str,
        about(
            "What a grab of a packet in two steps answered.",
            "Z3JhYi10b2tlbg",
            pattern="^[A-Za-z0-9_-]+$",
        ),
    ]
    expires_at_ms: EndsAtMs


Grabbed = TypeAliasType("Grabbed", Annotated[Claim | Admission, Discriminator("outcome")])


class SentPacket(TypedDict):
    """A packet as it was sent: a repeat reads the same."""

    packet_id: PacketId
    status: Annotated[
        Literal["open", "unpaid"], about("`unpaid` until its payment comes, with a `pay_with`.")
    ]
    kind: PacketKind
    split: PacketSplit
    opening: PacketOpening
    total_fen: TotalFen
    count: ShareCount
    greeting: Greeting
    created_at_ms: AtMs
    starts_at_ms: AtMs
    expires_at_ms: EndsAtMs
    campaign_id: OfCampaign
    amounts_shown: ShownAmounts
    cover_url: CoverUrl
    commitment: Commitment
    share_url: Annotated[
        str,
        about(
            "The page of the packet, for those who may take a share.",
            f"https://example.com/packets/{SOME_PACKET_ID}",
            pattern="^https?://",
        ),
    ]
    payment_id: Annotated[PaymentId | None, about("What it is paid by.")]
    wechat: Prompt
    host: HostPrompt


class Taken(ShownPerson):
    """A claim without its amount."""

    share_no: ShareNo
    claimed_at_ms: AtMs
    is_luckiest: IsLuckiest
    payout: Payout


class ShownClaim(Taken):
    """A claim as everybody may see it."""

    amount_fen: ShownFen


class OwnClaim(Taken):
    """The viewer's own claim."""

    amount_fen: ShareFen


class Record(TypedDict):
    """A packet with a page of its claims, by share number; of a packet in parts by part.

    A page may have fewer claims than `limit`, and not be the last.
    """

    packet_id: PacketId
    sender: ShownPerson
    kind: PacketKind
    split: PacketSplit
    opening: PacketOpening
    is_exclusive: Annotated[bool, about("Whether it is for its recipients only (专属红包).")]
    needs_passphrase: Annotated[
        bool, about("Whether a taker has to type or say a passphrase (口令红包).")
    ]
    greeting: Greeting
    status: PacketState
    total_fen: TotalFen
    count: ShareCount
    claimed_count: Annotated[
        int,
        about(
            "While a packet of more than 100 shares is open, only what is settled; so are "
            "`claimed_fen` and `remaining_count`.",
            1,
            ge=0,
            le=COUNT_MAX,
        ),
    ]
    claimed_fen: ClaimedFen
    remaining_count: RemainingCount
    refunded_fen: Annotated[AnyFen, about("What went back to the sender.", 0)]
    refunded_at_ms: Annotated[AtMs | None, about("Null while nothing went back.", None)]
    created_at_ms: AtMs
    starts_at_ms: AtMs
    expires_at_ms: EndsAtMs
    campaign_id: OfCampaign
    emptied_in_ms: EmptiedInMs
    closed_at_ms: Annotated[
        AtMs | None, about("When an expired packet was closed; null for an emptied one.", None)
    ]
    luckiest: Annotated[
        ShownClaim | None,
        about("The claim of the largest amount (手气最佳), once it is certain.", None),
    ]
    claims: Annotated[list[ShownClaim], Field(max_length=LIMIT_MAX)]
    next: Next
    amounts_shown: ShownAmounts
    cover_url: CoverUrl
    commitment: Commitment
    mine: Annotated[OwnClaim | None, about("The caller's own claim.", None)]


class FeedClaim(PublicPerson):
    """A claim as everybody who has the packet's id may see it."""

    amount_fen: ShownFen
    claimed_at_ms: AtMs
    is_luckiest: IsLuckiest


class Feed(TypedDict):
    """A packet as everybody who has its id may see it."""

    packet_id: PacketId
    status: PacketState
    kind: PacketKind
    greeting: Greeting
    sender: PublicPerson
    count: ShareCount
    claimed_count: Annotated[int, about("Shares that were taken.", 1, ge=0, le=COUNT_MAX)]
    remaining_count: RemainingCount
    total_fen: TotalFen
    claimed_fen: ClaimedFen
    amounts_shown: ShownAmounts
    cover_url: CoverUrl
    claims: Annotated[list[FeedClaim], Field(max_length=LIMIT_MAX)]
    emptied_in_ms: EmptiedInMs
    next: Next


class Proof(TypedDict):
    """What the commitment was made of, and a page of the amounts that follow."""

    commitment: Commitment
    secret_version: SecretVersion
    seed: Annotated[
        str,
        about(
            "What decided the amounts; secret until the end.",
            "AAECAwQFBgcICQoLDA0ODw",
            pattern="^[A-Za-z0-9_-]{22}$",
        ),
    ]
    algorithm: Split
    total_fen: TotalFen
    count: ShareCount
    share_fen_min: Annotated[int, about("The least that a share may hold.", ge=1, le=FEN_MAX)]
    share_fen_max: Annotated[int, about("The most that a share may hold.", ge=1, le=FEN_MAX)]
    unit_fen: Annotated[
        int, about("Every amount is a multiple of it: 100 gives whole yuan.", ge=1, le=UNIT_FEN_MAX)
    ]
    first_share_no: Annotated[
        int, about("Whose amount is the first of the page.", ge=1, le=CURSOR_MAX + 1)
    ]
    amounts_fen: Annotated[
        Sequence[Annotated[int, Field(ge=1, le=FEN_MAX)]], Field(max_length=PROOF_LIMIT_MAX)
    ]
    next: Next


class SentItem(TypedDict):
    """A packet that the caller sent."""

    packet_id: PacketId
    total_fen: TotalFen
    at_ms: AtMs
    status: PacketState


class ReceivedItem(TypedDict):
    """A share that the caller was paid."""

    packet_id: PacketId
    amount_fen: ShareFen
    at_ms: AtMs
    status: PacketState


class Totals(TypedDict):
    """The totals of a list of packets."""

    total_fen: Annotated[SumFen, about("Of all packets of the list, not of the page.", 8888)]
    count: Annotated[Count, about("How many packets the list has.", 10)]
    luckiest_count: Annotated[Count, about("How often the user had the largest amount.")]
    next: Next


class Sent(Totals):
    """What the caller sent, newest first."""

    items: Annotated[list[SentItem], about("The page.")]


class Received(Totals):
    """What the caller was paid, newest first."""

    items: Annotated[list[ReceivedItem], about("The page.")]


class Transfer(TypedDict):
    """One entry of the caller's book."""

    transfer_id: Annotated[
        Word, about("The transfer's name in the ledger.", f"settle#{SOME_PACKET_ID}#3")
    ]
    kind: TransferKind
    amount_fen: Annotated[
        int,
        about(
            "Positive where it came in, negative where it went out.", 888, ge=-FEN_MAX, le=FEN_MAX
        ),
    ]
    counterparty: Annotated[Word, about("Where the money came from or went to.", SOME_PACKET_ID)]
    at_ms: AtMs


class Transfers(TypedDict):
    """The caller's book, newest first."""

    items: Annotated[list[Transfer], about("The page.", max_length=LIMIT_MAX)]
    next: Next
