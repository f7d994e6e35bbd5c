"""Handler that orders packets' payments for the send function; it has no routes to forge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from redpacket.edge.api import Api
from redpacket.edge.payment_views import payment_view
from redpacket.edge.request import person_of
from redpacket.edge.wiring import wiring

if TYPE_CHECKING:
    from redpacket.edge.answers.payments import Payment

handler = Api()


@handler.schedule
def order_payment(time_left_ms: int, event: dict[str, Any]) -> Payment:  # noqa: ARG001 - Lambda's form
    """Order the payment of an unpaid packet at the gateway."""
    return payment_view(wiring.find_payment(event["payment_id"], person_of(event["host_id"])))
