"""HTTP handler for the caller's data: profile, balance, notices, and delivery address."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from redpacket.campaigns.api.parameters import campaign_id_of, draw_id_of
from redpacket.campaigns.errors import CampaignNotFound
from redpacket.containers import containers
from redpacket.events.api.views import notice_view
from redpacket.ledger.model import user_account
from redpacket.lottery.api import views as lottery_views
from redpacket.lottery.api.winner_schemas import AddressBody
from redpacket.lottery.use_cases.give_address import find_won, give_address
from redpacket.operations.api import guards
from redpacket.operations.api.scopes import WATCHERS
from redpacket.packets.api import views
from redpacket.platform.errors import RateLimited, VersionConflict
from redpacket.platform.http.api import Api, HttpAnswer
from redpacket.platform.http.bodies import body_of
from redpacket.platform.http.parameters import cursor
from redpacket.platform.http.request import HttpRequest, RequestOf
from redpacket.platform.settings import settings
from redpacket.users.api.schemas import ProfileBody
from redpacket.users.model import CURSOR

if TYPE_CHECKING:
    from redpacket.events.api.answers import Notices
    from redpacket.lottery.api.answers import GoodsAddress
    from redpacket.lottery.model.winners import Winner
    from redpacket.packets.api.answers import Me

handler = Api()

_notice_cursor_of = cursor(CURSOR)


@handler.route("GET /me", refusals=(RateLimited,))
def read_me(request: HttpRequest) -> HttpAnswer[Me]:
    """Show the caller's token, nickname, avatar, balance and number of unread notices."""
    guards.guard_read(request)
    if request.user.nickname and not request.scopes.isdisjoint(WATCHERS):
        # Store the nickname, because the audit log shows operators' names.
        named = replace(request.user, host_id=None)
        containers.users.profiles.note(named, containers.platform.clock.now_ms())
    profiles = containers.users.profiles.list_profiles([request.user.user_id])
    return _me(request, profiles)


@handler.route("GET /admin/me", refusals=(RateLimited,), scopes=WATCHERS)
def read_operator(request: HttpRequest) -> HttpAnswer[Me]:
    """Show the calling operator. Operator tokens from a separate issuer cannot call GET /me."""
    return read_me(request)


@handler.route("PUT /me/profile", refusals=(RateLimited,))
def edit_profile(request: RequestOf[ProfileBody]) -> HttpAnswer[Me]:
    """Change the caller's public profile."""
    guards.guard_read(request)  # the response is that of GET /me
    from redpacket.packets.model.picture import owner_prefix, picture_id_of
    from redpacket.platform.image_url import absolute_url
    from redpacket.users.confusables import skeleton_of
    from redpacket.users.use_cases.edit_profile import edit_profile as edit

    body, user_id = body_of(ProfileBody, request), request.user.user_id

    def owns(path: str) -> bool:
        # A picture's id starts with a prefix for its owner, so no read is needed.
        return (picture_id_of(path) or "").startswith(owner_prefix(user_id))

    profile = edit(
        user_id,
        body.nickname,
        body.avatar_url,
        profiles=containers.users.profiles,
        skeleton_of=skeleton_of,
        absolute_url=lambda url: absolute_url(
            url, settings.avatar_hosts, settings.share_base_url, owns
        ),
    )
    return _me(request, {profile.user_id: profile})


@handler.route("GET /me/notices", parameters=(_notice_cursor_of,), refusals=(RateLimited,))
def read_notices(request: HttpRequest) -> HttpAnswer[Notices]:
    """List the caller's notices, newest first; the first page marks all as read."""
    guards.guard_read(request)
    user_id, repository = request.user.user_id, containers.users.notices
    page, unread, more = repository.list_newest(
        user_id, _notice_cursor_of(request), containers.platform.clock.now_ms()
    )
    if unread:
        repository.mark_read(user_id, page[0].at_ms)
    items = [notice_view(notice) for notice in page]
    return HttpAnswer({"items": items, "unread": unread, "next": more})


@handler.route(
    "GET /campaigns/{campaign_id}/draws/{draw_id}/address",
    parameters=(campaign_id_of, draw_id_of),
    refusals=(CampaignNotFound, RateLimited),
)
def read_address(request: HttpRequest) -> HttpAnswer[GoodsAddress]:
    """Show the delivery address of goods that the caller won."""
    guards.guard_read(request)
    user_id = request.user.user_id
    address = containers.lottery.addresses.find([user_id]).get(user_id)
    return HttpAnswer(lottery_views.address_view(_won(request), address))


@handler.route(
    "PUT /campaigns/{campaign_id}/draws/{draw_id}/address",
    parameters=(campaign_id_of, draw_id_of),
    refusals=(CampaignNotFound, VersionConflict, RateLimited),
)
def give_goods_address(request: RequestOf[AddressBody]) -> HttpAnswer[GoodsAddress]:
    """Set the delivery address of won goods; the caller may change it until the handover."""
    guards.guard_read(request)
    address, winner = body_of(AddressBody, request).given, _won(request)
    give_address(winner, address, addresses=containers.lottery.addresses)
    return HttpAnswer(lottery_views.address_view(winner, address))


def _won(request: HttpRequest) -> Winner:
    return find_won(
        campaign_id_of(request),
        request.user.user_id,
        draw_id_of(request),
        addresses=containers.lottery.addresses,
    )


def _me(request: HttpRequest, profiles: views.Profiles) -> HttpAnswer[Me]:
    presenter = views.UserPresenter(profiles)
    user_id, now_ms = request.user.user_id, containers.platform.clock.now_ms()
    balance_fen = containers.packets.ledger.balance_fen(user_account(user_id))
    _, unread, _ = containers.users.notices.list_newest(user_id, None, now_ms)
    shown = presenter.view(request.user)
    return HttpAnswer({**shown, "balance_fen": balance_fen, "unread_notices": unread})
