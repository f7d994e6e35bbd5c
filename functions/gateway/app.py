"""The door of gateways: callbacks, which are checked and queued, and move no money."""

from __future__ import annotations

from redpacket.domain.errors import ChannelUnavailable, SignatureInvalid, Unavailable
from redpacket.edge.api import Api, HttpAnswer
from redpacket.edge.request import HttpRequest
from redpacket.edge.wiring import wiring

handler = Api()


@handler.route(
    "POST /gateway/wechat/callback",
    is_public=True,
    statuses=(204,),
    refusals=(SignatureInvalid, ChannelUnavailable, Unavailable),
)
def take_wechat_callback(request: HttpRequest) -> HttpAnswer[None]:
    """Take what WeChat Pay tells; its signature is in the headers."""
    wiring.take_callback("wechat", request.headers, request.body)
    return HttpAnswer(None)


@handler.route(
    "POST /gateway/host/callback",
    is_public=True,
    statuses=(204,),
    refusals=(SignatureInvalid, ChannelUnavailable, Unavailable),
)
def take_host_callback(request: HttpRequest) -> HttpAnswer[None]:
    """Take what the host's wallet tells, signed by Standard Webhooks."""
    wiring.take_callback("host", request.headers, request.body)
    return HttpAnswer(None)
