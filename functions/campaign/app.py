"""The door of campaigns: users read them; operators edit, watch and preheat them."""

from redpacket.edge import guards, lottery_views, views, wiring
from redpacket.edge.api import ADMIN_SCOPE, Api, HttpAnswer, HttpRequest
from redpacket.edge.packet_ids import preheat_cursor_of
from redpacket.edge.schemas import CampaignBody, parse

_PREHEAT_WITHIN_MS = 20_000
"""API Gateway waits 30 seconds; what is left by then, the next call loads."""

handler = Api()


@handler.route("GET /campaigns/{campaign_id}")
def read_campaign(request: HttpRequest) -> HttpAnswer:
    """Show a campaign and its prizes to its users."""
    guards.guard_read(request)
    return HttpAnswer(lottery_views.campaign_view(wiring.read_lottery(request.campaign_id)))


@handler.route("GET /admin/campaigns/{campaign_id}")
def watch_campaign(request: HttpRequest) -> HttpAnswer:
    """Show a campaign to an operator, with its budget and stock and what is left of them."""
    request.require_scope(ADMIN_SCOPE)
    return HttpAnswer(lottery_views.campaign_admin_view(wiring.watch_lottery(request.campaign_id)))


@handler.route("PUT /admin/campaigns/{campaign_id}")
def edit_campaign(request: HttpRequest) -> HttpAnswer:
    """Create a campaign (201), or edit it (200)."""
    request.require_scope(ADMIN_SCOPE)
    campaign_id = request.campaign_id
    body = parse(CampaignBody, request.json())
    plan = body.plan(campaign_id)
    edited, is_new = wiring.edit_campaign(plan, body.budget_fen, body.version)
    shown = lottery_views.campaign_admin_view(edited)
    return HttpAnswer(shown, status=201 if is_new else 200)


@handler.route("POST /admin/campaigns/{campaign_id}/preheat")
def preheat_campaign(request: HttpRequest) -> HttpAnswer:
    """Load a campaign's prizes and packets into the cache."""
    request.require_scope(ADMIN_SCOPE)
    campaign_id, cursor = request.campaign_id, preheat_cursor_of(request)
    wiring.load_lottery(campaign_id)
    preheated = wiring.preheat_campaign(campaign_id, cursor, _PREHEAT_WITHIN_MS)
    return HttpAnswer(views.preheated_view(preheated), status=202)
