"""Request body of a decision on won goods."""

from __future__ import annotations

from typing import Annotated, Literal

from redpacket.lottery.model.winners import WinnerStatus
from redpacket.packets.api.fields import Note
from redpacket.platform.http.bodies import StrictBody, about, example


class WinnerBody(StrictBody):
    """PUT /admin/campaigns/{campaign_id}/winners/{unit}; the first decision is final."""

    model_config = example({"status": "handed_over", "note": "by courier"})

    status: Annotated[
        Literal["handed_over", "forfeited"],
        about("`forfeited`: the prize gets one more unit to draw."),
    ]
    note: Annotated[Note, about("Permanent note in the audit log. Do not include names.")] = ""

    @property
    def decision(self) -> WinnerStatus:
        """Return the decision as a model value."""
        return WinnerStatus(self.status)
