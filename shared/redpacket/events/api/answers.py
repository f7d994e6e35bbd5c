"""Response types for webhooks and notices."""

from __future__ import annotations

from typing import Annotated, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from redpacket.events.api.event_answers import EVENT_ID_PATTERN
from redpacket.events.api.schemas import EventName
from redpacket.events.model.webhooks import COUNT_MAX, NAME, WEBHOOKS_MAX
from redpacket.events.use_cases.edit_webhook import DEAD_SHOWN
from redpacket.packets.api.answer_fields import CampaignId, PacketId
from redpacket.payments.api.answers import WithdrawalId
from redpacket.platform.http.answer_fields import AnyFen, AtMs, Count, Next, Unread, Word
from redpacket.platform.http.bodies import about
from redpacket.users.model import PAGE, NoticeKind

WebhookName = Annotated[
    str, about("Slug that the operator chose.", "shop", pattern=f"^{NAME.pattern}$")
]
EventId = Annotated[
    str,
    about(
        "The event's `id` and `webhook-id`.",
        "evt_9f86d081884c7d659a2feaa0c55ad015",
        pattern=EVENT_ID_PATTERN,
    ),
]
ShownSecret = Annotated[
    str,
    about(
        "Signing secret in Standard Webhooks format; shown only once.",
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=",
        pattern="^whsec_[A-Za-z0-9+/=]+$",
    ),
]
AnswerStatus = Annotated[
    int, about("Status of the receiver's response; 0 if none arrived in time.", 204, ge=0, le=999)
]
HeldCount = Annotated[
    int, about(f"Number of events; {COUNT_MAX} means at least {COUNT_MAX}.", ge=0, le=COUNT_MAX)
]


class TriedDelivery(TypedDict):
    """Delivery attempt, and the receiver's response."""

    event_id: EventId
    type: Word
    at_ms: AtMs
    ok: Annotated[bool, about("Whether the status is from 200 to 299.")]
    status: AnswerStatus
    duration_ms: Count


class Webhook(TypedDict):
    """Receiver of events; `last_success` and `last_failure` are null at first."""

    name: WebhookName
    url: Annotated[Word, Field(examples=["https://shop.example/events"])]
    events: list[EventName]
    is_on: bool
    created_at_ms: AtMs
    version: Annotated[int, about("Version, which each edit increases by 1.", 1, ge=1)]
    failure_count: Annotated[Count, about("Number of consecutive failed deliveries.")]
    paused_until_ms: Annotated[
        AtMs | None,
        about("End of the pause after consecutive failures; until then, nothing is delivered."),
    ]
    last_success: TriedDelivery | None
    last_failure: TriedDelivery | None
    secret: NotRequired[ShownSecret]


class Webhooks(TypedDict):
    """All webhooks."""

    items: Annotated[list[Webhook], about("Webhooks, sorted by name.", max_length=WEBHOOKS_MAX)]


class DeadLetter(TypedDict):
    """Event that a receiver did not accept within a day."""

    event_id: EventId
    type: Word
    subject: Annotated[Word, about("Packet, draw, withdrawal, or payment that the event is about.")]
    attempt_count: Count
    last_status: AnswerStatus
    died_at_ms: AtMs


class WebhookDetails(Webhook):
    """Webhook with its pending deliveries and dead letters."""

    waiting_count: HeldCount
    dead_count: HeldCount
    dead_letters: Annotated[
        list[DeadLetter], about("Oldest dead letters; kept for 30 days.", max_length=DEAD_SHOWN)
    ]


class Secret(TypedDict):
    """New signing secret."""

    secret: ShownSecret


class Replay(TypedDict):
    """Number of dead letters that will be delivered again."""

    replayed_count: Count
    is_complete: Annotated[
        bool, about("Whether all dead letters are replayed; if not, repeat the call.")
    ]


class UserNotice(TypedDict):
    """Notice about the caller's packet, prize, or withdrawal."""

    kind: Annotated[
        NoticeKind,
        about(
            "`best_luck`: the caller's share was the largest. `withdrawal_failed`: the withdrawal "
            "failed or was canceled, and the money is back in the balance."
        ),
    ]
    at_ms: AtMs
    packet_id: NotRequired[PacketId]
    campaign_id: NotRequired[CampaignId]
    withdrawal_id: NotRequired[WithdrawalId]
    amount_fen: NotRequired[
        Annotated[AnyFen, about("Amount of the claims, refund, share, or withdrawal.", 888)]
    ]
    text: NotRequired[Annotated[Word, about("Emoji of the thanks; absent if there is none.", "🙏")]]


class Notices(TypedDict):
    """Notices of the last 30 days, newest first; reading the first page marks all as read."""

    items: Annotated[list[UserNotice], about("Items on this page.", max_length=PAGE)]
    unread: Unread
    next: Next
