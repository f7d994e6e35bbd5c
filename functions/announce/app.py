"""The door of the tables' streams: what changed becomes events, and events deliveries."""

from typing import Any

from redpacket.edge.deliveries import announce_batch
from redpacket.edge.wiring import wiring


def handler(event: dict[str, Any], context: object) -> dict[str, int]:  # noqa: ARG001 - Lambda's form
    """Announce a batch of one table's changes, or a record that was put aside."""
    return announce_batch(
        event["Records"],
        read=wiring.read_change,
        announce=wiring.announce,
        put_aside=wiring.put_aside,
        journal=wiring.journal,
    )
