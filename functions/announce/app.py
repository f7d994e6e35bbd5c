"""Handler for the tables' streams: turn changed rows into events and events into deliveries.

An altered row of the audit log or of an approval is no event. It raises an alarm.
"""

from functools import partial
from typing import Any

from redpacket.containers import containers
from redpacket.events.api.deliveries import announce_batch, report_altered
from redpacket.events.use_cases.announce import announce


def handler(event: dict[str, Any], context: object) -> dict[str, int]:  # noqa: ARG001 - Lambda's form
    """Announce a batch of one table's changes, or a dead-lettered record."""
    records, tables = event["Records"], containers.platform.dynamo.tables
    watched = [f":table/{table}/" for table in (tables.journal, tables.approvals)]
    if any(table in record.get("eventSourceARN", "") for record in records for table in watched):
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
