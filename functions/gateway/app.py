"""HTTP handler for provider callbacks: verify and queue them. It moves no money."""

from __future__ import annotations

from redpacket.containers import containers
from redpacket.payments.errors import ChannelUnavailable, SignatureInvalid
from redpacket.payments.model.provider_name import ProviderName
from redpacket.payments.use_cases.handle_callback import handle_callback
from redpacket.platform.http.api import Api, HttpAnswer
from redpacket.platform.http.request import HttpRequest

handler = Api()


@handler.route(
    "POST /gateway/wechat/callback",
    is_public=True,
    statuses=(204,),
    refusals=(SignatureInvalid, ChannelUnavailable),
)
def take_wechat_callback(request: HttpRequest) -> HttpAnswer[None]:
    """Take what WeChat Pay tells; its signature is in the headers."""
    return _take(request, ProviderName.WECHAT)


@handler.route(
    "POST /gateway/host/callback",
    is_public=True,
    statuses=(204,),
    refusals=(SignatureInvalid, ChannelUnavailable),
)
def take_host_callback(request: HttpRequest) -> HttpAnswer[None]:
    """Take what the host's wallet tells, signed by Standard Webhooks."""
    return _take(request, ProviderName.HOST)


def _take(request: HttpRequest, channel: ProviderName) -> HttpAnswer[None]:
    ports = containers.payments.callback_ports
    handle_callback(channel, request.headers, request.body, ports=ports)
    return HttpAnswer(None)
