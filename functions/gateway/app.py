"""HTTP handler that verifies and queues provider callbacks. It moves no money."""

from __future__ import annotations

from redpacket.containers import containers
from redpacket.ledger.errors import ChannelUnavailable
from redpacket.ledger.provider_name import ProviderName
from redpacket.payments.errors import SignatureInvalid
from redpacket.payments.use_cases.handle_callback import handle_callback
from redpacket.platform.http.api import Api, HttpAnswer
from redpacket.platform.http.request import HttpRequest

handler = Api()


def _mount(channel: ProviderName) -> None:
    def receive(request: HttpRequest) -> HttpAnswer[None]:
        """Queue a callback that the provider signed."""
        ports = containers.payments.callback_ports
        handle_callback(channel, request.headers, request.body, ports=ports)
        return HttpAnswer(None)

    # The function's name becomes the operation ID.
    receive.__name__ = f"take_{channel}_callback"
    handler.route(
        f"POST /gateway/{channel}/callback",
        is_public=True,
        is_direct=True,
        statuses=(204,),
        refusals=(SignatureInvalid, ChannelUnavailable),
    )(receive)


for _channel in ProviderName:
    _mount(_channel)

# Load the keys at startup: with wrong keys, the function would reject every callback.
_callbacks = containers.providers.callbacks
