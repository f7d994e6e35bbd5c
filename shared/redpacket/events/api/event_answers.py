"""Types of the `data` that receivers get; openapi.json has them under `webhooks`."""

from __future__ import annotations

from typing import Annotated

from typing_extensions import TypedDict

from redpacket.events.model.events import EventType
from redpacket.ledger.provider_name import ProviderName
from redpacket.lottery.model.lottery import PrizeKind
from redpacket.packets.api import answer_fields as fields
from redpacket.platform.http import answer_fields as common
from redpacket.platform.http.bodies import about

HostUserId = Annotated[
    common.Word | None,
    about(
        "Host id of this user: the subject of the user's tokens. Null if the user was erased or "
        "the id is unknown.",
        "alice",
    ),
]
MaybeCampaign = Annotated[fields.CampaignId | None, about("Campaign that the packet belongs to.")]


class _OfSender(TypedDict):
    packet_id: fields.PacketId
    campaign_id: MaybeCampaign
    sender: HostUserId
    sender_token: common.UserToken


class PacketSent(_OfSender):
    """A packet is funded and can be grabbed."""

    kind: fields.PacketKind
    total_fen: fields.TotalFen
    count: fields.ShareCount
    expires_at_ms: common.AtMs


class PacketEmptied(_OfSender):
    """Every share is claimed, and every claim is settled."""

    claimed_count: common.Count
    claimed_fen: common.AnyFen


class PacketClosed(_OfSender):
    """The packet has ended: every share is claimed and settled, or refunded to the sender."""

    claimed_count: common.Count
    claimed_fen: common.AnyFen
    refunded_count: common.Count
    refunded_fen: common.AnyFen


class ShareClaimed(_OfSender):
    """`packet.claimed`: the claim is durable; `claim.settled`: the amount is in the account."""

    prize_id: Annotated[
        fields.PrizeId | None, about("Cash prize that the share pays; set only in `claim.settled`.")
    ]
    share_no: fields.ShareNo
    amount_fen: fields.ShareFen
    user: HostUserId
    user_token: common.UserToken


class DrawWon(TypedDict):
    """A user won a prize."""

    campaign_id: fields.CampaignId
    draw_id: common.Word
    prize_id: fields.PrizeId
    title: common.Word
    kind: PrizeKind
    amount_fen: Annotated[fields.ShareFen | None, about("Amount of a cash prize.")]
    unit_no: Annotated[int, about("Number of the unit.", ge=1)]
    user: HostUserId
    user_token: common.UserToken


class WithdrawalEnded(TypedDict):
    """`paid`: the user has the money; `failed`, `cancelled`: the money is back in the balance."""

    withdrawal_id: common.Word
    amount_fen: fields.ShareFen
    channel: ProviderName
    user: HostUserId
    user_token: common.UserToken


class PaymentPaid(TypedDict):
    """A payment was received for the user's balance or for a packet."""

    payment_id: common.Word
    amount_fen: fields.ShareFen
    channel: ProviderName
    packet_id: Annotated[fields.PacketId | None, about("Packet that the payment funds.")]
    user: HostUserId
    user_token: common.UserToken


class PaymentRefunded(PaymentPaid):
    """A payment was refunded at the provider, fully or in part; the refunded sums only grow."""

    refunded_fen: Annotated[fields.ShareFen, about("The amount refunded to the payer so far.")]
    debited_fen: Annotated[
        common.AnyFen,
        about("The part that is charged to the user's account; the rest was never credited."),
    ]


class WebhookTest(TypedDict):
    """Test that an operator requested."""

    webhook: common.Word


DATA: dict[EventType, type] = {
    EventType.PACKET_SENT: PacketSent,
    EventType.PACKET_CLAIMED: ShareClaimed,
    EventType.PACKET_EMPTIED: PacketEmptied,
    EventType.PACKET_CLOSED: PacketClosed,
    EventType.CLAIM_SETTLED: ShareClaimed,
    EventType.DRAW_WON: DrawWon,
    EventType.WITHDRAWAL_PAID: WithdrawalEnded,
    EventType.WITHDRAWAL_FAILED: WithdrawalEnded,
    EventType.WITHDRAWAL_CANCELLED: WithdrawalEnded,
    EventType.PAYMENT_PAID: PaymentPaid,
    EventType.PAYMENT_REFUNDED: PaymentRefunded,
    EventType.TEST: WebhookTest,
}
"""Schema of each event type's `data`."""

OF_PACKETS = (PacketSent, ShareClaimed, PacketEmptied, PacketClosed)
"""Schemas of the events that have a `sequence`."""

EVENT_ID_PATTERN = "^evt_[0-9a-f]{32}$"
