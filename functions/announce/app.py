"""Handler for the tables' streams: turn changed rows into events and events into deliveries.

A changed row of the audit log is no event. It raises an alarm.
"""

from functools import partial
from typing import Any

from redpacket.containers import containers
from redpacket.events.api.deliveries import announce_batch, report_altered
from redpacket.events.use_cases.announce import announce


def handler(event: dict[str, Any], context: object) -> dict[str, int]:  # noqa: ARG001 - Lambda's form
    """Announce a batch of one table's changes, or a dead-lettered record."""
    records = event["Records"]
    audit_log = f":table/{containers.platform.dynamo.tables.journal}/"
    if any(audit_log in record.get("eventSourceARN", "") for record in records):
        return report_altered(
            records, dead_letter=containers.events.dead_letter, logger=containers.platform.logger
        )
    return announce_batch(
        records,
        read=containers.events.read_change,
        announce=partial(announce, ports=containers.events.announce_ports),
        dead_letter=containers.events.dead_letter,
        logger=containers.platform.logger,
    )
