"""Handler for the tables' streams: turn changed rows into events and events into deliveries."""

from functools import partial
from typing import Any

from redpacket.containers import containers
from redpacket.events.api.deliveries import announce_batch
from redpacket.events.use_cases.announce import announce


def handler(event: dict[str, Any], context: object) -> dict[str, int]:  # noqa: ARG001 - Lambda's form
    """Announce a batch of one table's changes, or a dead-lettered record."""
    return announce_batch(
        event["Records"],
        read=containers.events.read_change,
        announce=partial(announce, ports=containers.events.announce_ports),
        dead_letter=containers.events.dead_letter,
        logger=containers.platform.logger,
    )
