"""The bodies of a switch, of a limit and of a verdict."""

from __future__ import annotations

from typing import Annotated, Literal

from redpacket.campaigns.model import AT_MS_MAX
from redpacket.operations.model.risk import RiskDecision, VerdictKind
from redpacket.packets.api.fields import Note
from redpacket.platform.http.bodies import StrictBody, about, example
from redpacket.users.api.schemas import HostId


class SwitchBody(StrictBody):
    """PUT /admin/switches/{name}; *reason* is for operators who find it off."""

    model_config = example({"on": False, "reason": "payouts are being checked"})

    on: Annotated[
        bool, about("False refuses what the switch names, everywhere within ten seconds.")
    ]
    reason: Annotated[Note, about("For operators who find it off.")] = ""


class LimitBody(StrictBody):
    """PUT /admin/limits/{name}; null restores the default."""

    model_config = example({"value": 300})

    value: Annotated[
        int | None, about("The limit, within the bounds that GET /admin/limits shows.")
    ]


class RiskBody(StrictBody):
    """POST /admin/risk; *user* is whom the host calls so."""

    model_config = example({"user": "alice", "verdict": "deny", "until_ms": 1800000000000})

    user: Annotated[HostId, about("The user's id: the subject of their token.")]
    verdict: Annotated[
        Literal["allow", "deny"],
        about("`deny` refuses their grabs and draws; `allow` takes that back."),
    ]
    until_ms: Annotated[int, about("When the verdict ends, by itself.", ge=0, le=AT_MS_MAX)]

    @property
    def parsed(self) -> RiskDecision:
        """The verdict in the domain's words."""
        return RiskDecision(VerdictKind(self.verdict), self.until_ms)
