"""Clients for AWS services, or credentials, that the light client does not support."""

from __future__ import annotations

from typing import Any

from botocore.config import Config

from redpacket.platform.time_budget import time_budget


def botocore_client(
    session: Any,  # noqa: ANN401 - botocore has no types
    service: str,
    timeouts_s: tuple[float, float, float],
    tries: int,
) -> Any:  # noqa: ANN401
    """Return a client.

    *timeouts_s* has the connect timeout, the read timeout, and the time a call must have left.
    """
    connect_s, read_s, least_s = timeouts_s
    client = session.create_client(
        service,
        config=Config(
            connect_timeout=connect_s,
            read_timeout=read_s,
            retries={"mode": "standard", "total_max_attempts": tries},
            tcp_keepalive=True,
        ),
    )
    client.meta.events.register("before-send", lambda **_: time_budget.require(least_s))
    return client
