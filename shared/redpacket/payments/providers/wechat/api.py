"""WeChat's routes: account linking, consents, sign-in, and page signatures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from redpacket.containers import containers
from redpacket.ledger.errors import ChannelUnavailable
from redpacket.ledger.provider_name import ProviderName
from redpacket.payments.api.client_network import client_network
from redpacket.payments.api.linking import add_link_routes
from redpacket.payments.api.schemas import CodeBody
from redpacket.payments.api.views import confirmation_view
from redpacket.payments.errors import CodeInvalid, PayeeNotBound
from redpacket.payments.model.authorization import Authorization, AuthorizationStatus
from redpacket.payments.model.provider import NO_MERCHANT
from redpacket.payments.ports import required as required_part
from redpacket.payments.use_cases import authorize as consent_flow
from redpacket.payments.use_cases import bind_account as sign_in_flow
from redpacket.platform.errors import RateLimited
from redpacket.platform.http.api import Api, HttpAnswer
from redpacket.platform.http.bodies import StrictBody, about, body_of, example
from redpacket.platform.http.parameters import required
from redpacket.platform.http.request import HttpRequest, RequestOf, person_of
from redpacket.platform.http.request_fields import Nickname

if TYPE_CHECKING:
    from redpacket.payments.api.answers import Token
    from redpacket.payments.providers.wechat.answers import Consent, WeChatJsConfig

routes = Api()
add_link_routes(routes, ProviderName.WECHAT)


class ConsentBody(StrictBody):
    """POST /me/wechat/authorization."""

    model_config = example({"display_name": "小明"})

    display_name: Annotated[Nickname, about("The user's display name, shown by WeChat.")]


@required("query", "url", type="string", format="uri")
def page_url_of(text: str) -> str:
    """The page's `location.href`; its fragment has no effect."""
    return text


@routes.route(
    "POST /me/wechat/authorization",
    statuses=(202,),
    refusals=(ChannelUnavailable, PayeeNotBound, RateLimited),
)
def authorize(request: RequestOf[ConsentBody]) -> HttpAnswer[Consent]:
    """Request the caller's consent to transfers without confirmation."""
    body, ports = body_of(ConsentBody, request), containers.payments.authorization_ports
    user_id, channel = request.user.user_id, ProviderName.WECHAT
    consent = consent_flow.authorize(user_id, channel, body.display_name, ports=ports)
    return HttpAnswer(_consent_view(consent))


@routes.route("DELETE /me/wechat/authorization", statuses=(202,), refusals=(ChannelUnavailable,))
def end_authorization(request: HttpRequest) -> HttpAnswer[Consent]:
    """End the caller's consent, so that later withdrawals do not use it."""
    user_id, ports = request.user.user_id, containers.payments.authorization_ports
    ended = consent_flow.end_authorization(user_id, ProviderName.WECHAT, ports=ports)
    return HttpAnswer(_consent_view(ended))


@routes.route(
    "POST /auth/wechat",
    is_public=True,
    refusals=(ChannelUnavailable, CodeInvalid, RateLimited),
)
def sign_in(request: RequestOf[CodeBody]) -> HttpAnswer[Token]:
    """Get a token from the deployment's issuer; link the code's account if the user has none."""
    token, expires_at_ms = sign_in_flow.sign_in(
        body_of(CodeBody, request).code,
        ProviderName.WECHAT,
        lambda subject: person_of(subject).user_id,
        address=client_network(request),
        ports=containers.payments.login_ports,
    )
    return HttpAnswer({"token": token, "expires_at_ms": expires_at_ms})


@routes.route(
    "GET /wechat/js-config",
    parameters=(page_url_of,),
    is_public=True,
    refusals=(ChannelUnavailable,),
)
def sign_page_url(request: HttpRequest) -> HttpAnswer[WeChatJsConfig]:
    """Sign a page address, so that the page may use WeChat's JS-SDK at this address."""
    sign = required_part(containers.providers.page_signers, ProviderName.WECHAT)
    return HttpAnswer(sign(page_url_of(request)))


def _consent_view(consent: Authorization | None) -> Consent:
    """Return a consent with WeChat's confirmation parameters; None is shown as CLOSED."""
    status = consent.status if consent else AuthorizationStatus.CLOSED
    if consent is None or status is not AuthorizationStatus.AWAITING_CONFIRMATION:
        return {"status": status, "wechat": None}
    provider = containers.providers.providers_in.get(ProviderName.WECHAT)
    merchant = provider.merchant if provider else NO_MERCHANT
    return {
        "status": status,
        "wechat": confirmation_view(merchant, consent.confirmation, consent.number),
    }
