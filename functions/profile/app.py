"""HTTP handler for the caller's own account: GET /me, GET /admin/me and PUT /me/profile."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from redpacket.containers import containers
from redpacket.operations.api import guards
from redpacket.operations.api.scopes import WATCHERS
from redpacket.packets.api import views
from redpacket.platform.errors import RateLimited
from redpacket.platform.http.api import Api, HttpAnswer
from redpacket.platform.http.bodies import body_of
from redpacket.platform.http.request import HttpRequest, RequestOf
from redpacket.platform.settings import settings
from redpacket.users.api.schemas import ProfileBody

if TYPE_CHECKING:
    from redpacket.packets.api.answers import Me

handler = Api()


@handler.route("GET /me", refusals=(RateLimited,))
def read_me(request: HttpRequest) -> HttpAnswer[Me]:
    """Show the caller to themselves: public token, nickname, avatar, balance."""
    guards.guard_read(request)
    if request.user.nickname and not request.scopes.isdisjoint(WATCHERS):
        # The audit log shows operators by name.
        named = replace(request.user, host_id=None)
        containers.users.profiles.note(named, containers.platform.clock.now_ms())
    profiles = containers.users.profiles.list_profiles([request.user.user_id])
    return _me(request, profiles)


@handler.route("GET /admin/me", refusals=(RateLimited,), scopes=WATCHERS)
def read_operator(request: HttpRequest) -> HttpAnswer[Me]:
    """Show an operator to themselves: operators of another issuer have no GET /me."""
    return read_me(request)


@handler.route("PUT /me/profile", refusals=(RateLimited,))
def edit_profile(request: RequestOf[ProfileBody]) -> HttpAnswer[Me]:
    """Change what others see of the caller."""
    guards.guard_read(request)  # it answers with the same page
    from redpacket.users.confusables import skeleton_of
    from redpacket.users.use_cases.edit_profile import edit_profile as edit

    body = body_of(ProfileBody, request)
    profile = edit(
        request.user.user_id,
        body.nickname,
        body.avatar_url,
        profiles=containers.users.profiles,
        skeleton_of=skeleton_of,
        avatar_hosts=settings.avatar_hosts,
    )
    return _me(request, {profile.user_id: profile})


def _me(request: HttpRequest, profiles: views.Profiles) -> HttpAnswer[Me]:
    people = views.UserPresenter(profiles)
    balance_fen = containers.ledger.balance_fen(request.user.user_id)
    return HttpAnswer({**people.view(request.user), "balance_fen": balance_fen})
