"""Keep what the host says of a user: its own risk control knows more of them than we do."""

from __future__ import annotations

from redpacket.domain.errors import InvalidRequest
from redpacket.domain.risk import Verdict
from redpacket.ports.audiences import Verdicts


def judge_user(user_id: str, verdict: Verdict, *, verdicts: Verdicts, is_asked: bool) -> None:
    """Keep *verdict*; repeating it is harmless. Raises InvalidRequest where no claim would ask."""
    if not is_asked:
        message = "is not asked by claims and draws: the parameter RiskVerdicts is false"
        raise InvalidRequest([{"field": "verdict", "message": message}])
    verdicts.put(user_id, verdict)
