"""Handler for packet payments. It has no routes; only the send function invokes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from redpacket.containers import containers
from redpacket.payments.api.views import payment_view
from redpacket.payments.use_cases.start_payment import close_order, find_payment
from redpacket.platform.http.api import Api
from redpacket.platform.http.request import person_of

if TYPE_CHECKING:
    from collections.abc import Mapping

handler = Api()


@handler.schedule
def order_payment(time_left_ms: int, event: dict[str, Any]) -> Mapping[str, Any]:  # noqa: ARG001 - Lambda's form
    """Create the provider's payment order for an unpaid packet, or close the order."""
    payments = containers.payments
    if number := event.get("close"):
        close_order(number, ports=payments.payment_ports)
        return {}
    user = person_of(event["host_id"])
    ports, payees = payments.payment_ports, payments.payees_of(user)
    return payment_view(find_payment(event["payment_id"], user.user_id, ports=ports, payees=payees))
