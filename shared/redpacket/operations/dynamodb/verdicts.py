"""Risk decisions of the host in AudienceTable, and the check that claim transactions make."""

from __future__ import annotations

from redpacket.operations.dynamodb import keys
from redpacket.operations.model.risk import RiskDecision, VerdictKind
from redpacket.platform.dynamodb.client import Dynamo, Operation, Row, Value, check, merge

IS_NOT_DENIED = "attribute_not_exists(denied_until_ms) OR denied_until_ms <= :now_ms"


class DynamoVerdicts:
    """Repository of the host's risk decisions, which claims and draws check."""

    def __init__(self, dynamo: Dynamo) -> None:
        self._dynamo = dynamo
        self._audience = dynamo.tables.audience

    def put(self, user_id: str, verdict: RiskDecision) -> None:
        """Store a decision on a user, in place of an earlier one."""
        is_denied = verdict.kind is VerdictKind.DENY
        row: dict[str, Value] = {
            **keys.verdict(user_id),
            "denied_until_ms": verdict.until_ms if is_denied else 0,
            "allowed_until_ms": 0 if is_denied else verdict.until_ms,
        }
        self._dynamo.write(merge(self._audience, row))


def demand_verdict(table: str, user_id: str, now_ms: int) -> Operation:
    """Return the check that fails the transaction if the user is denied."""
    return check(table, keys.verdict(user_id), IS_NOT_DENIED, now_ms=now_ms)


def denied_until_ms(row: Row | None) -> int:
    """Return the end of a user's denial, or 0 if there is none."""
    return int(row.get("denied_until_ms", 0)) if row else 0
