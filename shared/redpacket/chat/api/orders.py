"""Conversion of chat commands to orders."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from redpacket.packets.api.orders import limited, order_of_body
from redpacket.packets.api.send_schemas import SendBody
from redpacket.packets.use_cases.send_packet import SendOrder
from redpacket.platform.http.bodies import parse
from redpacket.platform.idempotency import Request
from redpacket.platform.user import User


def chat_order(sender: User, request: Request, fields: Mapping[str, Any]) -> SendOrder:
    """Return the order for the *fields* of a `POST /packets` body. Raises InvalidRequest."""
    return limited(order_of_body(parse(SendBody, dict(fields)), sender, request))
