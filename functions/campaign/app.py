"""HTTP handler for campaigns: users read them; operators edit, watch and preheat them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redpacket.approvals.api.approval_gate import (
    asked_campaign,
    log_preheat,
    note_audience,
    run_or_request_approval,
)
from redpacket.approvals.api.operator_lists import user_of
from redpacket.campaigns.api.audience_schemas import BODY_BYTES_MAX, AudienceBody
from redpacket.campaigns.api.parameters import campaign_id_of
from redpacket.campaigns.api.schemas import CampaignBody
from redpacket.campaigns.errors import CampaignNotFound
from redpacket.campaigns.use_cases.cached_campaigns import get_campaign
from redpacket.campaigns.use_cases.edit_audience import clear_audience, find_listed
from redpacket.campaigns.use_cases.edit_audience import edit_audience as edit_list
from redpacket.containers import containers
from redpacket.lottery.api import views as lottery_views
from redpacket.lottery.use_cases.apply_edit import apply_campaign, count_closed
from redpacket.lottery.use_cases.edit_campaign import end_now
from redpacket.lottery.use_cases.load_campaign import load_edited
from redpacket.lottery.use_cases.preheat_campaign import preheat_campaign as preheat
from redpacket.lottery.use_cases.read_draws import watch_lottery
from redpacket.operations.api.reads import noted_read
from redpacket.operations.api.scopes import (
    EDITORS,
    OPERATORS,
    TREASURY_READERS,
    WATCHERS,
    operator_of,
)
from redpacket.packets.api.packet_ids import preheat_cursor_of
from redpacket.packets.api.views import UserPresenter, shown_rounds
from redpacket.packets.errors import PacketNotFound
from redpacket.platform.errors import InvalidRequest, VersionConflict
from redpacket.platform.http.api import Api, HttpAnswer
from redpacket.platform.http.bodies import body_of
from redpacket.platform.http.entity_tags import known_tags_of, tagged
from redpacket.platform.http.request import HttpRequest, RequestOf, person_of

if TYPE_CHECKING:
    from redpacket.approvals.api.answers import AwaitingApproval
    from redpacket.lottery.api.answers import (
        Audience,
        Campaign,
        CampaignAdmin,
        CheckedAudience,
        Preheated,
    )

_WORK_WITHIN_MS = 20_000
"""Maximum milliseconds of work per call, because API Gateway waits only 30 seconds."""

CAMPAIGN_CACHING = ("public, max-age=1",)

handler = Api()


@handler.route(
    "GET /campaigns/{campaign_id}",
    parameters=(campaign_id_of, known_tags_of),
    refusals=(CampaignNotFound,),
    is_public=True,
    caching=CAMPAIGN_CACHING,
)
def read_campaign(request: HttpRequest) -> HttpAnswer[Campaign]:
    """Show a campaign and its prizes to everyone; a token does not change the answer."""
    lottery = containers.lottery.lotteries.get(campaign_id_of(request))
    campaign, rains = lottery.snapshot.campaign, containers.lottery.rains
    packets, rounds = rains.get(campaign), rains.rounds(campaign.campaign_id)
    people = [share.claimer for each in rounds for share in each.podium if share.claimer]
    profiles = containers.users.shown_profiles.list_profiles([each.user_id for each in people])
    shown = lottery_views.campaign_view(
        lottery,
        packets,
        shown_rounds(rounds, UserPresenter(profiles)),
        containers.platform.clock.now_ms(),
    )
    return tagged(shown, request, {"cache-control": CAMPAIGN_CACHING[0]})


@handler.route(
    "GET /admin/campaigns/{campaign_id}",
    parameters=(campaign_id_of,),
    scopes=WATCHERS,
    refusals=(CampaignNotFound,),
)
def watch_campaign(request: HttpRequest) -> HttpAnswer[CampaignAdmin]:
    """Show a campaign to an operator, with total and remaining budget and stock."""
    watched = watch_lottery(
        campaign_id_of(request),
        campaigns=containers.campaigns.repository,
        prizes=containers.lottery.prizes,
        clock=containers.platform.clock,
    )
    return HttpAnswer(lottery_views.campaign_admin_view(watched))


@handler.route(
    "PUT /admin/campaigns/{campaign_id}",
    parameters=(campaign_id_of,),
    scopes=EDITORS,
    statuses=(200, 201, 202),
    refusals=(CampaignNotFound, VersionConflict),
)
def edit_campaign(
    request: RequestOf[CampaignBody],
) -> HttpAnswer[CampaignAdmin | AwaitingApproval]:
    """Create a campaign (201), edit it (200), or ask for approval (202).

    An edit that adds or affects more cash than `ApprovalFen` allows needs approval.
    """
    campaign_id = campaign_id_of(request)
    body = body_of(CampaignBody, request)
    plan, ports = body.plan(campaign_id), containers.editing.campaign_ports
    if body.end_now:
        plan = end_now(plan, ports=ports)

    def done() -> HttpAnswer[CampaignAdmin]:
        edited, is_new = apply_campaign(
            plan, body.budget_fen, body.version, operator_of(request), ports=ports
        )
        closed_count = count_closed(campaign_id, ports=ports)
        shown = lottery_views.campaign_admin_view(edited, closed_count)
        return HttpAnswer(shown, status=201 if is_new else 200)

    return run_or_request_approval(request, done, asked_campaign(plan, body.budget_fen))


@handler.route(
    "POST /admin/campaigns/{campaign_id}/audience",
    parameters=(campaign_id_of,),
    scopes=OPERATORS,
    refusals=(CampaignNotFound,),
    body_bytes_max=BODY_BYTES_MAX,
)
def edit_audience(request: RequestOf[AudienceBody]) -> HttpAnswer[Audience]:
    """Add users to a campaign's list, remove others, and set the list's mode.

    Returns 403 if the lottery has more cash than the operator may move without approval, because
    list edits can't be approved. Edit the list before you add cash, or use another campaign.
    """
    campaign_id, body = campaign_id_of(request), body_of(AudienceBody, request)
    add, remove = (
        [person_of(host_id).user_id for host_id in listed] for listed in (body.add, body.remove)
    )
    mode, ports = body.audience_mode, containers.editing.audience_ports

    def note() -> None:
        cleared = {"remove_all": True} if body.remove_all else {}
        facts = {"add": add, "remove": remove, "mode": mode, **cleared}
        note_audience(request, campaign_id, facts)

    operator, clock = operator_of(request), containers.platform.clock
    if body.remove_all:
        stop_at_ms = clock.now_ms() + _WORK_WITHIN_MS
        edited = clear_audience(campaign_id, stop_at_ms, note, operator, ports=ports, clock=clock)
    else:
        edited = edit_list(campaign_id, add, remove, mode, note, operator, ports=ports)
    return HttpAnswer(lottery_views.audience_view(edited))


@handler.route(
    "GET /admin/campaigns/{campaign_id}/audience/{user}",
    parameters=(campaign_id_of, user_of),
    scopes=TREASURY_READERS,
    refusals=(CampaignNotFound, InvalidRequest),
)
def check_audience(request: HttpRequest) -> HttpAnswer[CheckedAudience]:
    """Return whether a user is on a campaign's list; the audit log records the read."""
    campaign_id, user_id = campaign_id_of(request), user_of(request).user_id
    ports = containers.editing.audience_ports
    audience, is_listed = find_listed(campaign_id, user_id, ports=ports)
    noted_read(request, "audience", [user_id], campaign_id=campaign_id, user=user_id)
    return HttpAnswer({**lottery_views.audience_view(audience), "is_listed": is_listed})


@handler.route(
    "POST /admin/campaigns/{campaign_id}/preheat",
    parameters=(campaign_id_of, preheat_cursor_of),
    scopes=OPERATORS,
    statuses=(202,),
    refusals=(PacketNotFound, CampaignNotFound),
)
def preheat_campaign(request: HttpRequest) -> HttpAnswer[Preheated]:
    """Load a campaign's prizes, audience list and packets into the cache."""
    campaign_id, cursor = campaign_id_of(request), preheat_cursor_of(request)
    get_campaign(campaign_id, campaigns=containers.campaigns.repository)
    log_preheat(request, campaign_id, cursor)
    load_edited(campaign_id, ports=containers.editing.load_ports)
    ports = containers.editing.preheat_ports
    stop_at_ms = ports.clock.now_ms() + _WORK_WITHIN_MS
    preheated = preheat(campaign_id, cursor, stop_at_ms, ports=ports)
    return HttpAnswer(lottery_views.preheated_view(preheated))
