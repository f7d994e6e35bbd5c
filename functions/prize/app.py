"""The operators' door of prizes: put them into a campaign, and change their stock."""

from redpacket.edge import lottery_views, wiring
from redpacket.edge.api import ADMIN_SCOPE, Api, HttpAnswer, HttpRequest
from redpacket.edge.orders import prize_plan
from redpacket.edge.schemas import StockBody, idempotent_request, parse

handler = Api()


@handler.route("PUT /admin/campaigns/{campaign_id}/prizes/{prize_id}")
def put_prize(request: HttpRequest) -> HttpAnswer:
    """Create a prize (201), or edit it (200); cash is funded from the operator's account."""
    request.require_scope(ADMIN_SCOPE)
    plan, version = prize_plan(request)
    prize, stock, is_new = wiring.put_prize(plan, version, request.user)
    return HttpAnswer(lottery_views.prize_admin_view(prize, stock), status=201 if is_new else 200)


@handler.route("POST /admin/campaigns/{campaign_id}/prizes/{prize_id}/stock")
def change_stock(request: HttpRequest) -> HttpAnswer:
    """Add units to a prize, or take some that have not been won, once per idempotency key."""
    request.require_scope(ADMIN_SCOPE)
    campaign_id, prize_id = request.campaign_id, request.prize_id
    idempotent = idempotent_request(request)
    body = parse(StockBody, request.json())
    prize, stock = wiring.change_stock(
        campaign_id, prize_id, body.delta, body.version, request.user, idempotent
    )
    return HttpAnswer(lottery_views.prize_admin_view(prize, stock))
