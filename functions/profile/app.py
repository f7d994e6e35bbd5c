"""The door of a user's own page: GET /me, PUT /me/profile."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redpacket.domain.errors import InvalidRequest, RateLimited, Unavailable
from redpacket.edge import guards, views
from redpacket.edge.api import Api, HttpAnswer
from redpacket.edge.request import HttpRequest, RequestOf
from redpacket.edge.schemas.accounts import ProfileBody
from redpacket.edge.schemas.bodies import body_of
from redpacket.edge.wiring import wiring

if TYPE_CHECKING:
    from redpacket.edge.answers.packets import Me

handler = Api()


@handler.route("GET /me", refusals=(RateLimited, Unavailable))
def read_me(request: HttpRequest) -> HttpAnswer[Me]:
    """Show the caller to themselves: public token, nickname, avatar, balance."""
    guards.guard_read(request)
    profiles = wiring.profiles.list_profiles([request.user.user_id])
    return _me(request, profiles)


@handler.route("PUT /me/profile", refusals=(InvalidRequest, RateLimited, Unavailable))
def edit_profile(request: RequestOf[ProfileBody]) -> HttpAnswer[Me]:
    """Change what others see of the caller."""
    guards.guard_read(request)  # it answers with the same page
    body = body_of(ProfileBody, request)
    profile = wiring.edit_profile(request.user.user_id, body.nickname, body.avatar_url)
    return _me(request, {profile.user_id: profile})


def _me(request: HttpRequest, profiles: views.Profiles) -> HttpAnswer[Me]:
    people = views.People(profiles)
    balance_fen = wiring.balance_fen(request.user.user_id)
    return HttpAnswer({**people.view(request.user), "balance_fen": balance_fen})
