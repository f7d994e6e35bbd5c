"""Routes for linking a user's account at a provider."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redpacket.containers import containers
from redpacket.ledger.errors import ChannelUnavailable
from redpacket.ledger.provider_name import ProviderName
from redpacket.payments.api.schemas import CodeBody
from redpacket.payments.api.views import binding_view
from redpacket.payments.errors import CodeInvalid, OpenidInUse
from redpacket.payments.use_cases import bind_account
from redpacket.platform.errors import RateLimited
from redpacket.platform.http.api import Api, HttpAnswer
from redpacket.platform.http.bodies import body_of
from redpacket.platform.http.request import HttpRequest, RequestOf

if TYPE_CHECKING:
    from redpacket.payments.api.answers import Binding


def add_link_routes(routes: Api, channel: ProviderName) -> None:
    """Add the routes that show and link the caller's account at a provider."""

    def read_account(request: HttpRequest) -> HttpAnswer[Binding]:
        """Show the linked account, and the time from which withdrawals to it are allowed."""
        payees = containers.payments.bound_payees
        return HttpAnswer(binding_view(payees.find(request.user.user_id, channel)))

    def link_account(request: RequestOf[CodeBody]) -> HttpAnswer[Binding]:
        """Link the caller's account; withdrawals to it are allowed from `opens_at_ms`."""
        body, ports = body_of(CodeBody, request), containers.payments.login_ports
        bound = bind_account.bind_account(request.user.user_id, channel, body.code, ports=ports)
        return HttpAnswer(binding_view(bound))

    # The function names become the operation IDs.
    read_account.__name__, link_account.__name__ = f"read_{channel}", f"bind_{channel}"
    refusals = (ChannelUnavailable, CodeInvalid, OpenidInUse, RateLimited)
    routes.route(f"GET /me/{channel}")(read_account)
    routes.route(f"POST /me/{channel}", refusals=refusals)(link_account)
