"""Handler for the payout queue: settle a batch of claims and report the failed ones."""

from functools import partial
from typing import Any

from redpacket.containers import containers
from redpacket.packets.api.queue import settle_batch
from redpacket.packets.use_cases.settle_or_delay import settle_or_delay


def handler(event: dict[str, Any], context: object) -> dict[str, list[dict[str, str]]]:  # noqa: ARG001 - Lambda's form
    """Settle the claims that the messages name; SQS delivers a failing message up to five times."""
    settle = partial(
        settle_or_delay,
        is_on=containers.operations.stored_switches.is_on,
        profiles=containers.users.profiles,
        announce_claims=containers.providers.announce_claims,
        ports=containers.packets.settle_ports,
    )
    return settle_batch(event["Records"], settle=settle)
