"""Keys of what operators see and do: reconciliation, journal, approvals, webhooks."""

from __future__ import annotations

from zlib import crc32


def reconciliation() -> dict[str, str]:
    """ReconciliationTable: its one row."""
    return {"pk": "run"}


def action(position: str) -> dict[str, str]:
    """JournalTable: what an operator did, by time; the index by_list has it by its subject."""
    return {"pk": JOURNAL, "sk": position}


JOURNAL = "journal"


def approval(approval_id: str) -> dict[str, str]:
    """ApprovalsTable: what waits for another operator."""
    return {"pk": f"{APPROVAL_PREFIX}{approval_id}"}


APPROVAL_PREFIX = "approval#"
APPROVALS = "approvals"
"""ApprovalsTable, index by_list: all approvals by time."""


def allowance(operator_id: str, subject: str) -> dict[str, str]:
    """ApprovalsTable: what an operator moved alone to a subject; it goes away by itself."""
    return {"pk": f"moved#{operator_id}#{subject}"}


WEBHOOKS = "webhooks"
"""WebhooksTable: the partition of all webhooks."""


def webhook(name: str) -> dict[str, str]:
    """WebhooksTable: who is told of which events."""
    return {"pk": WEBHOOKS, "sk": name}


def delivery(webhook_name: str, event_id: str) -> dict[str, str]:
    """WebhooksTable: a delivery that waits or is dead."""
    shard = crc32(event_id.encode()) % DELIVERY_SHARDS
    return {"pk": f"delivery#{webhook_name}#{shard}", "sk": event_id}


DELIVERY_SHARDS = 4
"""Partitions of a webhook's waiting list: a receiver that is down in a rush fills it."""
