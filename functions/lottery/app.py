"""The door of the lottery (抽奖): draw, help a friend, and see what came of it."""

from redpacket.edge import guards, lottery_views, wiring
from redpacket.edge.api import Api, HttpAnswer, HttpRequest

handler = Api()


@handler.route("POST /campaigns/{campaign_id}/draws")
def draw(request: HttpRequest) -> HttpAnswer:
    """Draw once for the caller; a repeat with the same key gets the same answer."""
    guards.guard_draw(request)
    campaign_id, key_hash = request.campaign_id, request.key_hash
    if body := request.json():
        # Draws have no body, and then the schemas are not worth their import.
        from redpacket.edge.schemas import DrawBody, parse

        parse(DrawBody, body)
    drawn = wiring.draw_prize(campaign_id, request.user, key_hash)
    return HttpAnswer(lottery_views.drawn_view(drawn))


@handler.route("GET /campaigns/{campaign_id}/draws")
def read_draws(request: HttpRequest) -> HttpAnswer:
    """Show the caller's draws, newest first."""
    guards.guard_read(request)
    page = wiring.list_draws(request.campaign_id, request.user.user_id, request.query.get("cursor"))
    return HttpAnswer(lottery_views.draws_view(page))


@handler.route("POST /campaigns/{campaign_id}/helps")
def help_friend(request: HttpRequest) -> HttpAnswer:
    """Say a campaign's phrase for a friend, who may then draw once more."""
    guards.guard_help()
    from redpacket.edge.schemas import HelpBody, parse

    campaign_id = request.campaign_id
    body = parse(HelpBody, request.json())
    helped = wiring.help_inviter(
        campaign_id, request.user.user_id, body.inviter_token, body.transcript
    )
    return HttpAnswer(lottery_views.helped_view(helped))


@handler.route("GET /campaigns/{campaign_id}/proof")
def read_draw_proof(request: HttpRequest) -> HttpAnswer:
    """Reveal the seed of a day that is over."""
    guards.guard_read(request)
    proof = wiring.read_draw_proof(request.campaign_id, request.day)
    return HttpAnswer(lottery_views.draw_proof_view(proof))
