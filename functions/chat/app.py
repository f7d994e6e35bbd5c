"""Handler for calls from chat platforms, and for the queue of cards that show packets in chats."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, cast

from redpacket.chat.api.calls import call_ports, card_ports
from redpacket.chat.api.cards import edit_batch
from redpacket.chat.connector_name import ConnectorName
from redpacket.chat.use_cases.edit_card import edit_card
from redpacket.chat.use_cases.handle_call import handle_call
from redpacket.containers import containers
from redpacket.payments.errors import SignatureInvalid
from redpacket.platform.errors import InvalidRequest, RateLimited
from redpacket.platform.http.api import Api, HttpAnswer
from redpacket.platform.http.request import HttpRequest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from redpacket.chat.api.answers import ChatAnswer

_CALL_BYTES_MAX = 128 * 1024
"""Maximum bytes of a call, which may contain two messages of 4,096 escaped characters each."""

handler = Api()


def _mount(name: ConnectorName) -> None:
    def receive(request: HttpRequest) -> HttpAnswer[ChatAnswer]:
        """Execute a call that the chat platform signed, and answer in the platform's format."""
        connector = containers.chat.connectors.get(name)
        if connector is None:
            raise SignatureInvalid(f"The chat secret lacks values of {name}.")
        ports = call_ports()
        answer = handle_call(name, connector, request.headers, request.body, ports=ports)
        return HttpAnswer(cast("ChatAnswer", answer))

    # The function's name becomes the operation's id.
    receive.__name__ = f"take_{name}_call"
    handler.route(
        f"POST /chat/{name}",
        is_public=True,
        is_direct=True,
        refusals=(SignatureInvalid, InvalidRequest, RateLimited),
        body_bytes_max=_CALL_BYTES_MAX,
    )(receive)


for _name in ConnectorName:
    _mount(_name)


@handler.schedule
def edit_cards(_time_left_ms: int, event: dict[str, Any]) -> Mapping[str, Any]:
    """Edit the cards that show changed packets."""
    return edit_batch(
        event["Records"],
        edit=partial(edit_card, ports=card_ports()),
        delay=containers.chat.card_queue.delay,
        logger=containers.platform.logger,
    )
