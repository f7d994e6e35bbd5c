"""From the body of POST /packets to an order within this deployment's limits."""

from __future__ import annotations

from redpacket.domain.errors import InvalidRequest
from redpacket.domain.packet import Kind, Opening
from redpacket.domain.split import Split, default_share_fen_max
from redpacket.edge import settings
from redpacket.edge.api import HttpRequest
from redpacket.edge.schemas import SendBody, idempotent_request, parse
from redpacket.flows.send_packet import SendOrder


def send_order(request: HttpRequest) -> SendOrder:
    """Read an order. Raises InvalidRequest, IdempotencyKeyMissing, Forbidden."""
    sender = request.user
    idempotent = idempotent_request(request)
    body = parse(SendBody, request.json())
    cap_fen = settings.share_fen_max()
    _check_limit("count", body.count, settings.packet_count_max())
    _check_limit("share_fen_max", body.share_fen_max or cap_fen, cap_fen)
    kind = Kind(body.kind)
    default_split = Split.EQUAL if kind is Kind.EQUAL else Split.DOUBLE_MEAN
    split = Split(body.split) if body.split else default_split
    share_fen_max = body.share_fen_max or default_share_fen_max(
        split,
        total_fen=body.total_fen,
        count=body.count,
        unit_fen=body.unit_fen,
        cap_fen=cap_fen,
    )
    return SendOrder(
        sender=sender,
        request=idempotent,
        kind=kind,
        split=split,
        opening=Opening(body.opening),
        total_fen=body.total_fen,
        count=body.count,
        share_fen_min=body.share_fen_min,
        share_fen_max=share_fen_max,
        unit_fen=body.unit_fen,
        greeting=body.greeting,
        life_ms=body.expires_in_s * 1000,
    )


def _check_limit(name: str, value: int, limit: int) -> None:
    if value > limit:
        raise InvalidRequest([{"field": name, "message": f"is above {limit}"}])
