"""From the body of POST /packets to an order within this deployment's limits."""

from __future__ import annotations

from redpacket.domain.errors import InvalidRequest
from redpacket.domain.packet import Kind, Opening
from redpacket.domain.split import Split
from redpacket.edge import settings
from redpacket.edge.api import HttpRequest
from redpacket.edge.schemas import SendBody, idempotent_request, parse
from redpacket.flows.send_packet import SendOrder


def send_order(request: HttpRequest) -> SendOrder:
    """Read an order. Raises InvalidRequest, IdempotencyKeyMissing, Forbidden."""
    sender = request.user
    idempotent = idempotent_request(request)
    body = parse(SendBody, request.json())
    _check_limits(body)
    kind = Kind(body.kind)
    default_split = Split.EQUAL if kind is Kind.EQUAL else Split.DOUBLE_MEAN
    share_fen_max = settings.share_fen_max()
    return SendOrder(
        sender=sender,
        request=idempotent,
        kind=kind,
        split=Split(body.split) if body.split else default_split,
        opening=Opening(body.opening),
        total_fen=body.total_fen,
        count=body.count,
        share_fen_min=body.share_fen_min,
        share_fen_max=min(body.share_fen_max or share_fen_max, share_fen_max),
        unit_fen=body.unit_fen,
        greeting=body.greeting,
        life_ms=body.expires_in_s * 1000,
    )


def _check_limits(body: SendBody) -> None:
    count_max = settings.packet_count_max()
    if body.count > count_max:
        raise InvalidRequest([{"field": "count", "message": f"is above {count_max}"}])
