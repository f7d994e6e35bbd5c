"""Changes that may need a second operator, and log entries for actions before they run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from redpacket.approvals.api.views import awaiting_view
from redpacket.approvals.model import (
    CampaignAsked,
    CampaignMoneyAsked,
    DepositAsked,
    PendingChange,
    PrizeAsked,
    StockAsked,
)
from redpacket.approvals.use_cases.ask_approval import ask_approval
from redpacket.campaigns.model import CampaignPlan
from redpacket.containers import containers
from redpacket.lottery.model.lottery import Prize
from redpacket.operations.api.scopes import operator_of
from redpacket.operations.model.allowances import ApprovalNeededError
from redpacket.operations.model.operators import (
    LEDGER_SUBJECT,
    Action,
    ActionKind,
    Facts,
    campaign_subject,
    changes_between,
    user_subject,
    webhook_subject,
)
from redpacket.packets.model.packet import Packet
from redpacket.platform.http.api import HttpAnswer
from redpacket.platform.http.request import HttpRequest
from redpacket.platform.idempotency import Request
from redpacket.platform.user import User

if TYPE_CHECKING:
    from redpacket.approvals.api.answers import AwaitingApproval

Body = TypeVar("Body")
AskedOf: TypeAlias = Callable[[ApprovalNeededError], PendingChange]
"""Maps the error, which has the version and the moved amount, to the requested change."""


def run_or_request_approval(
    request: HttpRequest,
    do: Callable[[], HttpAnswer[Body]],
    asked_of: AskedOf,
    payee: User | None = None,
) -> HttpAnswer[Body | AwaitingApproval]:
    """Return the result of *do*, or 202 if another operator must first approve the change."""
    try:
        done = do()
    except ApprovalNeededError as needed:
        approvals, clock = containers.editing.approvals, containers.platform.clock
        approval = ask_approval(
            needed, operator_of(request), asked_of, payee=payee, approvals=approvals, clock=clock
        )
        return HttpAnswer(awaiting_view(approval, clock.now_ms()), status=202)
    return HttpAnswer(done.body, done.status, done.headers)


def asked_deposit(
    payee: User, amount_fen: int, idempotent: Request, *, is_for_campaigns: bool, case: str | None
) -> AskedOf:
    """Return the function that builds a pending deposit."""
    hashes = idempotent.key_hash, idempotent.body_hash
    return lambda _: DepositAsked(payee.user_id, amount_fen, *hashes, is_for_campaigns, case)


def asked_move(owner: User, payee: User, reason: str, idempotent: Request) -> AskedOf:
    """Return the function that builds a pending move of campaign money."""
    hashes = idempotent.key_hash, idempotent.body_hash
    return lambda needed: CampaignMoneyAsked(
        owner.user_id, payee.user_id, reason, *hashes, needed.amount_fen
    )


def asked_campaign(plan: CampaignPlan, budget_fen: int | None) -> AskedOf:
    """Return the function that builds a pending edit of a campaign."""
    return lambda needed: CampaignAsked(plan, budget_fen, needed.version, needed.amount_fen)


def asked_prize(plan: Prize) -> AskedOf:
    """Return the function that builds a pending edit of a prize."""
    return lambda needed: PrizeAsked(plan, needed.version, needed.amount_fen)


def asked_stock(campaign_id: str, prize_id: str, delta: int, idempotent: Request) -> AskedOf:
    """Return the function that builds a pending change of stock."""
    hashes = idempotent.key_hash, idempotent.body_hash
    return lambda needed: StockAsked(
        campaign_id, prize_id, delta, needed.version, *hashes, needed.amount_fen
    )


def log_preheat(request: HttpRequest, campaign_id: str, cursor: str | None) -> None:
    """Log a preheat before it runs."""
    subject = campaign_subject(campaign_id)
    _note(request, ActionKind.CAMPAIGN_PREHEATED, subject, {"cursor": cursor})


def note_look_up(request: HttpRequest, packet: Packet) -> None:
    """Log that an operator requested a packet's id, before the handler returns the id."""
    campaign_id, facts = packet.rules.campaign_id, {"packet_id": packet.packet_id}
    sender = user_subject(packet.sender.user_id)
    subject = campaign_subject(campaign_id) if campaign_id else sender
    _note(request, ActionKind.PACKET_LOOKED_UP, subject, facts)


def note_audience(request: HttpRequest, campaign_id: str, edited: Facts) -> None:
    """Log an edit of a campaign's audience list before it runs."""
    _note(request, ActionKind.AUDIENCE_EDITED, campaign_subject(campaign_id), edited)


def log_verdict(request: HttpRequest, user_id: str, verdict: str, until_ms: int) -> None:
    """Log a risk decision on a user before it is stored."""
    decision = {"verdict": verdict, "until_ms": until_ms}
    _note(request, ActionKind.USER_JUDGED, user_subject(user_id), decision)


def note_erasure(request: HttpRequest, user_id: str) -> None:
    """Log an erasure before it runs. The entry contains no data to erase."""
    _note(request, ActionKind.USER_ERASED, user_subject(user_id), {})


def note_upload(request: HttpRequest, picture_id: str) -> None:
    """Log the upload of a prize picture before the picture is stored."""
    uploaded, subject = {"picture_id": picture_id}, user_subject(request.user.user_id)
    _note(request, ActionKind.PICTURE_UPLOADED, subject, uploaded)


def note_picture(request: HttpRequest, picture_id: str, owner_id: str) -> None:
    """Log that a user's picture will be removed."""
    removed = {"picture_id": picture_id}
    _note(request, ActionKind.PICTURE_REMOVED, user_subject(owner_id), removed)


def note_thanks(request: HttpRequest, packet_id: str, share_no: int, author: User) -> None:
    """Log that the text in a user's thanks will be removed."""
    removed = {"packet_id": packet_id, "share_no": share_no}
    _note(request, ActionKind.THANKS_REMOVED, user_subject(author.user_id), removed)


def note_webhook(request: HttpRequest, name: str, edited: Facts) -> None:
    """Log the creation or edit of a webhook before it runs."""
    _note(request, ActionKind.WEBHOOK_EDITED, webhook_subject(name), edited)


def note_rotation(request: HttpRequest, name: str) -> None:
    """Log the rotation of a webhook's secret before it runs."""
    _note(request, ActionKind.WEBHOOK_KEY_ROTATED, webhook_subject(name), {})


def note_replay(request: HttpRequest, name: str) -> None:
    """Log a replay of dead letters before it runs."""
    _note(request, ActionKind.WEBHOOK_REPLAYED, webhook_subject(name), {})


def note_reconcile(request: HttpRequest) -> None:
    """Log a reconciliation before it runs."""
    _note(request, ActionKind.RECONCILED, LEDGER_SUBJECT, {})


def _note(request: HttpRequest, kind: ActionKind, subject: str, after: Facts) -> None:
    at_ms, changes = containers.platform.clock.now_ms(), changes_between(None, after)
    containers.operators.actions.note(Action(request.user, kind, subject, at_ms, changes))
