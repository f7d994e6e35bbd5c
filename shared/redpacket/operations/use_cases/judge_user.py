"""Storage of the host's risk verdicts about users."""

from __future__ import annotations

from redpacket.operations.model.risk import RiskDecision
from redpacket.operations.risk_ports import RiskDecisions
from redpacket.platform.errors import InvalidRequest


def judge_user(
    user_id: str, verdict: RiskDecision, *, verdicts: RiskDecisions, checks_verdicts: bool
) -> None:
    """Store *verdict*. Raises InvalidRequest if claims would not check it."""
    if not checks_verdicts:
        message = "is not available. Set the parameter RiskVerdicts to true first"
        raise InvalidRequest.of("verdict", message)
    verdicts.put(user_id, verdict)
