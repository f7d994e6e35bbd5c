"""Request bodies for switches, limits and risk decisions."""

from __future__ import annotations

from typing import Annotated, Literal

from redpacket.operations.model.risk import RiskDecision, VerdictKind
from redpacket.platform.bounds import AT_MS_MAX
from redpacket.platform.http.bodies import StrictBody, about, example
from redpacket.platform.http.request_fields import HostId, Note


class SwitchBody(StrictBody):
    """PUT /admin/switches/{name}; *reason* explains the change to other operators."""

    model_config = example({"on": False, "reason": "payouts are being checked"})

    on: Annotated[bool, about("False turns the function off everywhere within ten seconds.")]
    reason: Annotated[Note, about("Reason for the change, for other operators.")] = ""


class LimitBody(StrictBody):
    """PUT /admin/limits/{name}; null restores the default."""

    model_config = example({"value": 300})

    value: Annotated[
        int | None, about("The limit, within the bounds that GET /admin/limits shows.")
    ]


class RiskBody(StrictBody):
    """POST /admin/risk; *user* is the user's host id."""

    model_config = example({"user": "alice", "verdict": "deny", "until_ms": 1800000000000})

    user: Annotated[HostId, about("Host id of the user: the subject of the user's tokens.")]
    verdict: Annotated[
        Literal["allow", "deny"],
        about("`deny` refuses the user's grabs and draws; `allow` accepts them again."),
    ]
    until_ms: Annotated[int, about("Time when the decision expires.", ge=0, le=AT_MS_MAX)]

    @property
    def parsed(self) -> RiskDecision:
        """The decision as a model value."""
        return RiskDecision(VerdictKind(self.verdict), self.until_ms)
