"""Handler for table streams: turns changed rows into events, and events into deliveries.

Forbidden changes to the audit log, approvals or claims, and removals of payments or withdrawals,
raise an alarm.
"""

from functools import partial
from typing import Any

from redpacket.containers import containers
from redpacket.events.api.deliveries import (
    announce_batch,
    is_altered,
    is_rewritten,
    report_altered,
)
from redpacket.events.use_cases.announce import announce


def handler(event: dict[str, Any], context: object) -> dict[str, int]:  # noqa: ARG001 - Lambda's form
    """Announce a batch of changes from one table, or a dead-lettered record."""
    records, tables = event["Records"], containers.platform.dynamo.tables
    watched = [f":table/{table}/" for table in (tables.journal, tables.approvals)]
    report = partial(
        report_altered,
        records,
        dead_letter=containers.events.dead_letter,
        logger=containers.platform.logger,
    )
    if any(table in record.get("eventSourceARN", "") for record in records for table in watched):
        return report(is_altered=is_altered)
    report(is_altered=is_rewritten)
    return announce_batch(
        records,
        read=containers.events.read_change,
        announce=partial(announce, ports=containers.events.announce_ports),
        dead_letter=containers.events.dead_letter,
        logger=containers.platform.logger,
    )
