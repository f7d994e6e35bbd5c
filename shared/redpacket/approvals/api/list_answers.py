"""Response types for operators' lists, whose rows are also sent as CSV."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from redpacket.campaigns.model import PRIZE_ID
from redpacket.lottery.model.winners import WinnerStatus
from redpacket.operations.model.operators import ActionKind
from redpacket.packets.api import answer_fields as fields
from redpacket.packets.model.packet_ref import PACKET_REF
from redpacket.platform.http import answer_fields as common
from redpacket.platform.http.bodies import about


class ActionChange(TypedDict):
    """Changed field of an action's subject; numbers and lists are JSON in strings."""

    field: Annotated[common.Word, Field(examples=["budget_fen"])]
    before: Annotated[str | None, about("Null if the field had no value.", "0")]
    after: Annotated[str | None, about("Null if the field has no value.", "1000000")]


Nickname = Annotated[str | None, about("The user's nickname, or null.", "安")]


class OperatorName(TypedDict):
    """Operator; the host id is part of the log, and an erasure does not remove it."""

    id: common.UserToken
    user: common.HostId
    name: Nickname


Summary = Annotated[
    str,
    about(
        "One-sentence summary with host ids. An erased user appears under a pseudonym.",
        "ann deposited ¥8.88 for alice",
    ),
]


class NamedSubject(TypedDict):
    """Subject of an action; for a user, also the host id and the nickname."""

    subject: Annotated[common.Word, about("Subject: `kind:name`.", "campaign:new-year")]
    subject_user: common.HostId
    subject_name: Nickname


class ListedAction(NamedSubject):
    """Operator's action, logged permanently before or with the change."""

    at_ms: common.AtMs
    operator: Annotated[OperatorName, about("Operator who took the action.")]
    action: Annotated[ActionKind, about("Kind of the action.")]
    summary: Summary
    changes: Annotated[list[ActionChange], about("The fields that changed.")]


class Journal(TypedDict):
    """Page of the audit log, newest first."""

    items: Annotated[list[ListedAction], about("Items on this page.")]
    next: common.Next


WinnerState = Annotated[WinnerStatus, about("State of the unit.")]
Unit = Annotated[
    str,
    about(
        "Prize and number of the unit.",
        "cup.12",
        pattern=f"^{PRIZE_ID.pattern}\\.[1-9][0-9]{{0,6}}$",
    ),
]


class ListedCampaign(TypedDict):
    """Campaign in the list of all campaigns."""

    campaign_id: fields.CampaignId
    title: Annotated[common.Word, Field(examples=["New Year"])]
    status: fields.ToldStatus
    starts_at_ms: common.AtMs
    ends_at_ms: common.EndsAtMs
    budget_fen: common.SumFen
    budget_left_fen: common.SumFen
    version: common.Version


class CampaignPage(TypedDict):
    """Page of all campaigns, latest start first."""

    items: Annotated[list[ListedCampaign], about("Items on this page.")]
    next: common.Next


class ListedPacket(TypedDict):
    """Packet in a list for operators; the claimed sums are set once the packet is closed."""

    packet_id: Annotated[
        fields.PacketId | None,
        about(
            "Null while the packet is unpaid or open, except for `admin`, for `operate` if a "
            "campaign pays, and in a lookup by `packet`."
        ),
    ]
    packet_ref: Annotated[
        str,
        about(
            "Reference to the packet in operator routes; it cannot be used to claim.",
            pattern=f"^{PACKET_REF}$",
        ),
    ]
    sender: common.HostId
    sender_token: common.UserToken
    sender_name: Annotated[
        common.Word | None, about("Nickname or host id; null for an erased sender.")
    ]
    campaign_id: fields.OfCampaign
    prize_id: Annotated[fields.PrizeId | None, about("Cash prize that the packet funds.")]
    kind: fields.PacketKind
    status: fields.PacketState
    total_fen: fields.TotalFen
    count: fields.ShareCount
    claimed_count: Annotated[common.Count | None, about("Null until the packet is closed.")]
    claimed_fen: Annotated[common.AnyFen | None, about("Null until the packet is closed.")]
    refunded_fen: Annotated[common.AnyFen | None, about("Null until the packet is closed.")]
    created_at_ms: common.AtMs
    expires_at_ms: common.EndsAtMs


class PacketPage(TypedDict):
    """Page of packets; it may be short or empty even if more pages follow."""

    items: Annotated[list[ListedPacket], about("Items on this page.")]
    next: common.Next


class ListedClaim(TypedDict):
    """Claim as shown to operators, with the amount."""

    share_no: fields.ShareNo
    user: common.HostId
    user_token: common.UserToken
    nickname: Nickname
    amount_fen: fields.ShareFen
    claimed_at_ms: common.AtMs
    payout: fields.Payout
    via: Annotated[common.UserToken | None, about("The user whose link led to the claim.", None)]


class ClaimPage(TypedDict):
    """Page of a packet's claims; it may be short or empty even if more pages follow."""

    items: Annotated[list[ListedClaim], about("Items on this page.")]
    next: common.Next


class ListedSharer(TypedDict):
    """User whose shared link led to claims of a packet."""

    user: common.HostId
    user_token: common.UserToken
    nickname: Nickname
    claim_count: Annotated[int, about("Claims on this page that the user's link led to.", 1, ge=1)]


class SharerPage(TypedDict):
    """Users who shared the packet's link; for totals, add up the counts on all pages."""

    items: Annotated[list[ListedSharer], about("Sharers on this page, most claims first.")]
    next: common.Next


class DecidedWinner(TypedDict):
    """Won goods, and the operator's decision about the goods."""

    unit: Unit
    prize_id: fields.PrizeId
    user_token: common.UserToken
    status: WinnerState
    decided_at_ms: common.AtMs | None
    note: str | None


class ListedWinner(DecidedWinner):
    """Won goods, with the winner's host id."""

    user: common.HostId
    nickname: Nickname
    won_at_ms: common.AtMs
    recipient: Annotated[
        str | None, about("Recipient of the goods; set only for `operate`, until the handover.")
    ]
    phone: Annotated[str | None, about("Recipient's phone number.")]
    address: Annotated[str | None, about("Recipient's address.")]


class WinnerPage(TypedDict):
    """Winners, sorted by prize and unit; a page may be short or empty even if more follow."""

    items: Annotated[list[ListedWinner], about("Items on this page.")]
    next: common.Next
