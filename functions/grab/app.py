"""The door of the crowd: grab (抢) a packet, and open (拆) one that takes two steps."""

from redpacket.edge import guards, views, wiring
from redpacket.edge.api import Api, HttpAnswer, HttpRequest
from redpacket.edge.packet_ids import packet_id_of

handler = Api()


@handler.route("POST /packets/{packet_id}/grab")
def grab(request: HttpRequest) -> HttpAnswer:
    """Claim one share for the caller, or admit them to open one."""
    packet_id = packet_id_of(request)
    guards.guard_grab()
    said = None
    if body := request.json():
        # Most grabs have no body, and then the schemas are not worth their import.
        from redpacket.edge.schemas import GrabBody, parse

        said = parse(GrabBody, body).passphrase
    return HttpAnswer(views.grab_view(wiring.grab_packet(packet_id, request.user, said)))


@handler.route("POST /packets/{packet_id}/open")
def open_share(request: HttpRequest) -> HttpAnswer:
    """Claim one share for a caller who was admitted."""
    packet_id = packet_id_of(request)
    guards.guard_grab()
    from redpacket.edge.schemas import OpenBody, parse

    body = parse(OpenBody, request.json())
    claim = wiring.open_packet(packet_id, request.user, body.grab_token)
    return HttpAnswer(views.claim_view(claim))
