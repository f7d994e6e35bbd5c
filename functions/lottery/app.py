"""HTTP handler for the lottery (抽奖): draw, help a friend and read results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redpacket.campaigns.api.parameters import campaign_id_of, day_of, draw_cursor_of
from redpacket.campaigns.errors import (
    CampaignEnded,
    CampaignNotFound,
    CampaignNotStarted,
    CampaignPaused,
    NotInAudience,
)
from redpacket.containers import containers
from redpacket.lottery.api import views as lottery_views
from redpacket.lottery.errors import DrawRefused, HelpRefused
from redpacket.lottery.use_cases.draw_prize import draw_prize
from redpacket.lottery.use_cases.show_codes import show_codes
from redpacket.operations.api import guards
from redpacket.packets.errors import PassphraseMismatch, ProofNotReady
from redpacket.platform.errors import (
    IdempotencyKeyMissing,
    RateLimited,
    SwitchedOff,
)
from redpacket.platform.http.api import Api, HttpAnswer
from redpacket.platform.http.parameters import key_hash_of
from redpacket.platform.http.request import HttpRequest, RequestOf
from redpacket.platform.snapstart import before_snapshot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from redpacket.lottery.api.answers import Drawn, DrawProof, Draws, Helped
    from redpacket.lottery.api.draw_schemas import DrawBody, HelpBody
    from redpacket.lottery.model.lottery import Draw

_DRAWING = (
    CampaignNotFound,
    CampaignNotStarted,
    CampaignEnded,
    CampaignPaused,
    RateLimited,
    SwitchedOff,
)

handler = Api()


@handler.route(
    "POST /campaigns/{campaign_id}/draws",
    parameters=(campaign_id_of, key_hash_of),
    refusals=(*_DRAWING, IdempotencyKeyMissing, NotInAudience, DrawRefused),
)
def draw(request: RequestOf[DrawBody]) -> HttpAnswer[Drawn]:
    """Draw once for the caller; a retry with the same key returns the same result."""
    guards.guard_draw(request)
    campaign_id, key_hash = campaign_id_of(request), key_hash_of(request)
    if request.json():
        # Most draws have no body, so they skip the slow import of the schemas.
        from redpacket.lottery.api.draw_schemas import DrawBody
        from redpacket.platform.http.bodies import body_of

        body_of(DrawBody, request)
    result = draw_prize(campaign_id, request.user, key_hash, ports=containers.lottery.draw_ports)
    return HttpAnswer(lottery_views.drawn_view(result, _codes(request, [result.draw])))


@handler.route(
    "GET /campaigns/{campaign_id}/draws",
    parameters=(campaign_id_of, draw_cursor_of),
    refusals=(CampaignNotFound, RateLimited),
)
def read_draws(request: HttpRequest) -> HttpAnswer[Draws]:
    """Show the caller's draws, newest first."""
    guards.guard_read(request)
    campaign_id, cursor = campaign_id_of(request), draw_cursor_of(request)
    from redpacket.lottery.use_cases.read_draws import list_draws

    lottery = containers.lottery
    page = list_draws(
        campaign_id,
        request.user.user_id,
        cursor,
        draws=lottery.draws,
        snapshots=lottery.snapshots,
        clock=containers.platform.clock,
    )
    if cursor is None:
        containers.platform.logger.count("visited")
    return HttpAnswer(lottery_views.draws_view(page, _codes(request, page.items)))


@handler.route(
    "POST /campaigns/{campaign_id}/helps",
    parameters=(campaign_id_of,),
    refusals=(*_DRAWING, PassphraseMismatch, HelpRefused),
)
def help_friend(request: RequestOf[HelpBody]) -> HttpAnswer[Helped]:
    """Enter a campaign's passphrase to give a friend one more draw."""
    guards.guard_help()
    from redpacket.lottery.api.draw_schemas import HelpBody
    from redpacket.lottery.use_cases.help_inviter import help_inviter
    from redpacket.platform.http.bodies import body_of

    campaign_id = campaign_id_of(request)
    body = body_of(HelpBody, request)
    helped = help_inviter(
        campaign_id,
        request.user.user_id,
        body.inviter_token,
        body.transcript,
        ports=containers.lottery.help_ports,
    )
    return HttpAnswer(lottery_views.helped_view(helped))


@handler.route(
    "GET /campaigns/{campaign_id}/proof",
    parameters=(campaign_id_of, day_of),
    refusals=(CampaignNotFound, ProofNotReady, RateLimited),
)
def read_draw_proof(request: HttpRequest) -> HttpAnswer[DrawProof]:
    """Reveal the lottery's seed for a past day."""
    guards.guard_read(request)
    from redpacket.lottery.use_cases.read_draws import read_draw_proof

    proof = read_draw_proof(
        campaign_id_of(request),
        day_of(request),
        snapshots=containers.lottery.snapshots,
        prizes=containers.lottery.prizes,
        clock=containers.platform.clock,
    )
    return HttpAnswer(lottery_views.draw_proof_view(proof))


def _codes(request: HttpRequest, draws: Sequence[Draw]) -> dict[str, str]:
    codes, profiles = containers.lottery.codes, containers.users.profiles
    return show_codes(request.user.user_id, draws, codes=codes, profiles=profiles)


before_snapshot(
    "platform",
    "operations",
    "campaigns",
    "packets",
    "lottery",
    build=lambda: containers.lottery.draw_ports,
)
