"""The door of a user's own page: GET /me, PUT /me/profile."""

from redpacket.edge import guards, views, wiring
from redpacket.edge.api import Api, HttpAnswer, HttpRequest
from redpacket.edge.schemas import ProfileBody, parse

handler = Api()


@handler.route("GET /me")
def read_me(request: HttpRequest) -> HttpAnswer:
    """Show the caller to themselves: public token, nickname, avatar, balance."""
    guards.guard_read(request)
    profiles = wiring.profiles().list_profiles([request.user.user_id])
    return _me(request, profiles)


@handler.route("PUT /me/profile")
def edit_profile(request: HttpRequest) -> HttpAnswer:
    """Change what others see of the caller."""
    guards.guard_read(request)  # it answers with the same page
    body = parse(ProfileBody, request.json())
    return _me(request, wiring.keep_profile(request.user.user_id, body.nickname, body.avatar_url))


def _me(request: HttpRequest, profiles: views.Profiles) -> HttpAnswer:
    people = views.People(profiles)
    balance_fen = wiring.balance_fen(request.user.user_id)
    return HttpAnswer({**people.view(request.user), "balance_fen": balance_fen})
