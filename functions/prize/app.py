"""HTTP handler for prizes: edits, stock changes, redemption codes and handovers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redpacket.approvals.api.approval_gate import asked_prize, asked_stock, run_or_request_approval
from redpacket.approvals.api.operator_lists import unit_of, winner_view
from redpacket.campaigns.api.parameters import campaign_id_of, prize_id_of
from redpacket.campaigns.errors import CampaignEnded, CampaignNotFound
from redpacket.containers import containers
from redpacket.ledger.errors import InsufficientFunds
from redpacket.lottery.api import views as lottery_views
from redpacket.lottery.api.prize_schemas import CODES_BYTES_MAX, CodesBody, PrizeBody, StockBody
from redpacket.lottery.api.winner_schemas import WinnerBody
from redpacket.lottery.use_cases import apply_edit
from redpacket.lottery.use_cases.decide_winner import decide_winner as decide
from redpacket.operations.api.scopes import EDITORS, OPERATORS, operator_of
from redpacket.platform.errors import (
    Busy,
    IdempotencyKeyMissing,
    IdempotencyKeyReused,
    VersionConflict,
)
from redpacket.platform.http.api import Api, HttpAnswer
from redpacket.platform.http.bodies import body_of, idempotent_request
from redpacket.platform.http.parameters import key_hash_of
from redpacket.platform.http.request import RequestOf

if TYPE_CHECKING:
    from redpacket.approvals.api.answers import AwaitingApproval
    from redpacket.approvals.api.list_answers import DecidedWinner
    from redpacket.lottery.api.answers import PrizeAdmin

_EDITING = (CampaignNotFound, CampaignEnded, VersionConflict, Busy, InsufficientFunds)

handler = Api()


@handler.route(
    "PUT /admin/campaigns/{campaign_id}/prizes/{prize_id}",
    parameters=(campaign_id_of, prize_id_of),
    scopes=EDITORS,
    statuses=(200, 201, 202),
    refusals=_EDITING,
)
def put_prize(request: RequestOf[PrizeBody]) -> HttpAnswer[PrizeAdmin | AwaitingApproval]:
    """Create a prize (201), edit it (200), or ask for approval (202).

    The operator's account pays for cash prizes. An edit that changes who can win cash needs
    approval if the lottery has more cash than `ApprovalFen` allows. If a campaign has several
    pending edits, only one can be approved. The others then return 409, because their version is
    outdated.
    """
    body = body_of(PrizeBody, request)
    plan = body.prize(campaign_id_of(request), prize_id_of(request))

    def done() -> HttpAnswer[PrizeAdmin]:
        operator, ports = operator_of(request), containers.editing.prize_ports
        prize, stock, is_new = apply_edit.apply_prize(plan, body.version, operator, ports=ports)
        shown = lottery_views.prize_admin_view(prize, stock)
        return HttpAnswer(shown, status=201 if is_new else 200)

    return run_or_request_approval(request, done, asked_prize(plan))


@handler.route(
    "POST /admin/campaigns/{campaign_id}/prizes/{prize_id}/stock",
    parameters=(campaign_id_of, prize_id_of, key_hash_of),
    scopes=EDITORS,
    statuses=(200, 202),
    refusals=(IdempotencyKeyMissing, IdempotencyKeyReused, *_EDITING),
)
def change_stock(request: RequestOf[StockBody]) -> HttpAnswer[PrizeAdmin | AwaitingApproval]:
    """Add units to a prize, or remove units that nobody has won, once per idempotency key.

    The change needs approval (202) if the lottery has more cash than `ApprovalFen` allows.
    """
    campaign_id, prize_id = campaign_id_of(request), prize_id_of(request)
    idempotent = idempotent_request(request)
    body = body_of(StockBody, request)

    def done() -> HttpAnswer[PrizeAdmin]:
        prize, stock = apply_edit.apply_stock(
            campaign_id,
            prize_id,
            body.delta,
            body.version,
            operator_of(request),
            idempotent,
            ports=containers.editing.prize_ports,
        )
        return HttpAnswer(lottery_views.prize_admin_view(prize, stock))

    pending = asked_stock(campaign_id, prize_id, body.delta, idempotent)
    return run_or_request_approval(request, done, pending)


@handler.route(
    "POST /admin/campaigns/{campaign_id}/prizes/{prize_id}/codes",
    parameters=(campaign_id_of, prize_id_of),
    scopes=OPERATORS,
    refusals=(CampaignNotFound,),
    body_bytes_max=CODES_BYTES_MAX,
)
def add_codes(request: RequestOf[CodesBody]) -> HttpAnswer[PrizeAdmin]:
    """Add codes to a prize, one unit per code; only the winner of a unit sees its code.

    Returns 403 if the lottery has more cash than the operator may move without approval, because
    added codes can't be approved. Add codes before cash, or to another campaign.
    """
    campaign_id, prize_id = campaign_id_of(request), prize_id_of(request)
    body = body_of(CodesBody, request)
    operator, ports = operator_of(request), containers.editing.prize_ports
    prize, stock = apply_edit.apply_codes(campaign_id, prize_id, body.add, operator, ports=ports)
    return HttpAnswer(lottery_views.prize_admin_view(prize, stock))


@handler.route(
    "PUT /admin/campaigns/{campaign_id}/winners/{unit}",
    parameters=(campaign_id_of, unit_of),
    scopes=OPERATORS,
    refusals=(CampaignNotFound, VersionConflict),
)
def decide_winner(request: RequestOf[WinnerBody]) -> HttpAnswer[DecidedWinner]:
    """Hand over won goods, or let users draw them again; the first decision is final.

    Until the campaign ends, a decision to let users draw a unit again returns 403 if the lottery
    has more cash than the operator may move without approval.
    """
    campaign_id, (prize_id, unit_no) = campaign_id_of(request), unit_of(request)
    body = body_of(WinnerBody, request)
    winner = decide(
        campaign_id,
        prize_id,
        unit_no,
        body.decision,
        body.note,
        operator_of(request),
        ports=containers.editing.winner_ports,
    )
    return HttpAnswer(winner_view(winner))
