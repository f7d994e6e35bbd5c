"""Network address of a client without a token, for rate limits."""

from __future__ import annotations

from ipaddress import ip_network
from typing import TYPE_CHECKING

from redpacket.platform.settings import settings

if TYPE_CHECKING:
    from redpacket.platform.http.request import HttpRequest

_FORWARDED, _SOURCE = "forwarded", "source"
_IPV6_PREFIX_BITS = 64
"""Prefix length that groups the IPv6 addresses of one customer."""


def client_network(request: HttpRequest) -> str:
    """Return the client's IPv4 address or IPv6 network, or "" if no trusted party reports it."""
    address = ""
    if settings.client_address == _SOURCE:
        address = request.source_ip
    elif settings.client_address == _FORWARDED:
        # CloudFront appends the viewer's address, and API Gateway may append CloudFront's. A viewer
        # can forge all earlier entries.
        hops = request.headers.get("x-forwarded-for", "").replace(" ", "").split(",")
        address = next((hop for hop in reversed(hops) if hop != request.source_ip), "")
    if ":" not in address:
        return address
    return str(ip_network((address, _IPV6_PREFIX_BITS), strict=False))
