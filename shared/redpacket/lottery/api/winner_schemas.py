"""The body of a decision about goods that were won."""

from __future__ import annotations

from typing import Annotated, Literal

from redpacket.lottery.model.winners import WinnerStatus
from redpacket.packets.api.fields import Note
from redpacket.platform.http.bodies import StrictBody, about, example


class WinnerBody(StrictBody):
    """PUT /admin/campaigns/{campaign_id}/winners/{unit}; the first decision is the last."""

    model_config = example({"status": "handed_over", "note": "by courier"})

    status: Annotated[
        Literal["handed_over", "forfeited"],
        about("`forfeited`: the prize gets one more unit, which can be drawn."),
    ]
    note: Annotated[
        Note, about("For operators; the journal keeps it for ever, so name no one.")
    ] = ""

    @property
    def decision(self) -> WinnerStatus:
        """What becomes of the unit."""
        return WinnerStatus(self.status)
