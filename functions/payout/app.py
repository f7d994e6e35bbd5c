"""Handler for the payout queue: settle a batch of claims and report the failed ones."""

from typing import Any

from redpacket.containers import containers
from redpacket.packets.api.queue import settle_batch


def handler(event: dict[str, Any], context: object) -> dict[str, list[dict[str, str]]]:  # noqa: ARG001 - Lambda's form
    """Settle what the messages name; a message that fails comes again, five times in all."""
    return settle_batch(event["Records"], settle=containers.settlement.settle_claims)
