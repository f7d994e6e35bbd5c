"""The door of all that is only read: record pages, what I sent, received and was paid."""

from redpacket.edge import pages
from redpacket.edge.api import Api, HttpAnswer, HttpRequest

handler = Api()


@handler.route("GET /packets/{packet_id}")
def read_packet(request: HttpRequest) -> HttpAnswer:
    """Show a record page."""
    return pages.record_page(request)


@handler.route("GET /packets/{packet_id}/feed")
def read_feed(request: HttpRequest) -> HttpAnswer:
    """Show a packet to everybody who has its id."""
    return pages.feed_page(request)


@handler.route("GET /packets/{packet_id}/proof")
def read_proof(request: HttpRequest) -> HttpAnswer:
    """Reveal the seed of a packet that has ended, and every amount."""
    return pages.proof_page(request)


@handler.route("GET /me/sent")
def read_sent(request: HttpRequest) -> HttpAnswer:
    """Show what the caller sent."""
    return pages.sent_page(request)


@handler.route("GET /me/received")
def read_received(request: HttpRequest) -> HttpAnswer:
    """Show what the caller received."""
    return pages.received_page(request)


@handler.route("GET /me/transfers")
def read_transfers(request: HttpRequest) -> HttpAnswer:
    """Show the caller's book."""
    return pages.transfers_page(request)


@handler.route("GET /health")
def read_health(request: HttpRequest) -> HttpAnswer:
    """Tell that the API answers, and which version."""
    return pages.health(request)
