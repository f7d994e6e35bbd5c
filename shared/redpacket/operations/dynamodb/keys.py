"""Keys for the audit log, approvals, allowances, webhooks, switches and risk decisions."""

from __future__ import annotations

from zlib import crc32


def action(position: str) -> dict[str, str]:
    """Return the key of an operator's action in JournalTable; index by_list groups by subject."""
    return {"pk": JOURNAL, "sk": position}


JOURNAL = "journal"


def read(position: str) -> dict[str, str]:
    """Return the key of an operator's read of personal data, in JournalTable."""
    return {"pk": "reads", "sk": position}


def approval(approval_id: str) -> dict[str, str]:
    """Return the key of a change that needs a second operator, in ApprovalsTable."""
    return {"pk": f"{APPROVAL_PREFIX}{approval_id}"}


def question(digest: str) -> dict[str, str]:
    """Return the key of the row that maps a repeated request to its approval."""
    return approval(f"asked#{digest}")


APPROVAL_PREFIX = "approval#"
APPROVALS = "approvals"


def allowance(operator_id: str, subject: str) -> dict[str, str]:
    """Return the key of an operator's sums for a subject; the row has a TTL."""
    return {"pk": f"moved#{operator_id}#{subject}"}


def moved(owner: str, period: int) -> dict[str, str]:
    """Return the key of a period's sum for one operator or EVERYONE; the row has a TTL."""
    return {"pk": f"moved#{owner}#all#{period}"}


WEBHOOKS = "webhooks"


def webhook(name: str) -> dict[str, str]:
    """Return the key of a webhook in WebhooksTable."""
    return {"pk": WEBHOOKS, "sk": name}


def delivery(webhook_name: str, event_id: str) -> dict[str, str]:
    """Return the key of a waiting or dead delivery in WebhooksTable."""
    shard = crc32(event_id.encode()) % DELIVERY_SHARDS
    return {"pk": f"delivery#{webhook_name}#{shard}", "sk": event_id}


DELIVERY_SHARDS = 4
"""Partitions for a webhook's deliveries, which pile up if a receiver is down during a rush."""


def switches() -> dict[str, str]:
    """Return the key of the only row of SwitchesTable."""
    return {"pk": "switches"}


def verdict(user_id: str) -> dict[str, str]:
    """Return the key of the host's temporary risk decision on a user, in AudienceTable."""
    return {"pk": f"verdict#{user_id}", "sk": "verdict"}
