"""The door of a grab: POST /packets/{packet_id}/grab. The crowd comes through here."""

from redpacket.edge import guards, views, wiring
from redpacket.edge.api import Api, HttpAnswer, HttpRequest

handler = Api()


@handler.route("POST /packets/{packet_id}/grab")
def grab(request: HttpRequest) -> HttpAnswer:
    """Claim one share for the caller."""
    guards.guard_grab()
    if body := request.json():
        # Most grabs have no body, and then the schemas are not worth their import.
        from redpacket.edge.schemas import GrabBody, parse

        parse(GrabBody, body)
    return HttpAnswer(views.claim_view(wiring.grab_packet(request.packet_id, request.user)))
