"""The host's verdicts on users in AudienceTable, which a claim's own transaction checks."""

from __future__ import annotations

from redpacket.adapters.dynamo import campaign_keys
from redpacket.adapters.dynamo.client import Dynamo, Operation, Row, Value, check, merge
from redpacket.domain.risk import Verdict, VerdictKind

# What the condition of this module means.
IS_NOT_DENIED = "attribute_not_exists(denied_until_ms) OR denied_until_ms <= :now_ms"


class DynamoVerdicts:
    """Implements Verdicts."""

    def __init__(self, dynamo: Dynamo, audience_table: str) -> None:
        self._dynamo = dynamo
        self._audience = audience_table

    def put(self, user_id: str, verdict: Verdict) -> None:
        is_denied = verdict.kind is VerdictKind.DENY
        row: dict[str, Value] = {
            **campaign_keys.verdict(user_id),
            "denied_until_ms": verdict.until_ms if is_denied else 0,
            "allowed_until_ms": 0 if is_denied else verdict.until_ms,
        }
        self._dynamo.write(merge(self._audience, row))


def demand_verdict(table: str, user_id: str, now_ms: int) -> Operation:
    """Return what lets a transaction through only for users who are not denied."""
    return check(table, campaign_keys.verdict(user_id), IS_NOT_DENIED, now_ms=now_ms)


def denied_until_ms(row: Row | None) -> int:
    """Read until when a user is denied; 0 without a verdict."""
    return int(row.get("denied_until_ms", 0)) if row else 0
