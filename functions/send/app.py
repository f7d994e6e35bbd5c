"""The door of a send: POST /packets."""

from redpacket.edge import guards, settings, views, wiring
from redpacket.edge.api import Api, HttpAnswer, HttpRequest
from redpacket.edge.orders import send_order

handler = Api()


@handler.route("POST /packets")
def send(request: HttpRequest) -> HttpAnswer:
    """Fund a packet, once per idempotency key."""
    guards.guard_send(request)
    packet = wiring.send_packet(send_order(request))
    return HttpAnswer(views.sent_view(packet, settings.share_base_url()), status=201)
