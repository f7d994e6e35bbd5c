"""The operators' door of prizes: put them into a campaign, and change their stock."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redpacket.domain.errors import (
    Busy,
    CampaignEnded,
    CampaignNotFound,
    IdempotencyKeyMissing,
    IdempotencyKeyReused,
    InsufficientFunds,
    InvalidRequest,
    Unavailable,
    VersionConflict,
)
from redpacket.edge import lottery_views
from redpacket.edge.api import ADMIN_SCOPE, Api, HttpAnswer
from redpacket.edge.campaign_parameters import campaign_id_of, prize_id_of
from redpacket.edge.orders import prize_plan
from redpacket.edge.parameters import key_hash_of
from redpacket.edge.request import RequestOf
from redpacket.edge.schemas.bodies import body_of, idempotent_request
from redpacket.edge.schemas.prizes import PrizeBody, StockBody
from redpacket.edge.wiring import wiring

if TYPE_CHECKING:
    from redpacket.edge.answers.campaigns import PrizeAdmin

_EDITING = (
    CampaignNotFound,
    CampaignEnded,
    VersionConflict,
    Busy,
    InsufficientFunds,
    InvalidRequest,
    Unavailable,
)

handler = Api()


@handler.route(
    "PUT /admin/campaigns/{campaign_id}/prizes/{prize_id}",
    parameters=(campaign_id_of, prize_id_of),
    scope=ADMIN_SCOPE,
    statuses=(200, 201),
    refusals=_EDITING,
)
def put_prize(request: RequestOf[PrizeBody]) -> HttpAnswer[PrizeAdmin]:
    """Create a prize (201), or edit it (200); cash is funded from the operator's account."""
    plan, version = prize_plan(request)
    prize, stock, is_new = wiring.put_prize(plan, version, request.user)
    return HttpAnswer(lottery_views.prize_admin_view(prize, stock), status=201 if is_new else 200)


@handler.route(
    "POST /admin/campaigns/{campaign_id}/prizes/{prize_id}/stock",
    parameters=(campaign_id_of, prize_id_of, key_hash_of),
    scope=ADMIN_SCOPE,
    refusals=(IdempotencyKeyMissing, IdempotencyKeyReused, *_EDITING),
)
def change_stock(request: RequestOf[StockBody]) -> HttpAnswer[PrizeAdmin]:
    """Add units to a prize, or take some that have not been won, once per idempotency key."""
    campaign_id, prize_id = campaign_id_of(request), prize_id_of(request)
    idempotent = idempotent_request(request)
    body = body_of(StockBody, request)
    prize, stock = wiring.change_stock(
        campaign_id, prize_id, body.delta, body.version, request.user, idempotent
    )
    return HttpAnswer(lottery_views.prize_admin_view(prize, stock))
