"""The body of a decision about goods that were won."""

from __future__ import annotations

from typing import Annotated, Literal

from redpacket.domain.winners import WinnerStatus
from redpacket.edge.schemas.bodies import StrictBody, about, example
from redpacket.edge.schemas.fields import VISIBLE_TEXT, length, visible_text

NOTE_GRAPHEMES_MAX = 100


class WinnerBody(StrictBody):
    """PUT /admin/campaigns/{campaign_id}/winners/{unit}; the first decision is the last."""

    model_config = example({"status": "handed_over", "note": "by courier"})

    status: Annotated[
        Literal["handed_over", "forfeited"],
        about("`forfeited`: the prize gets one more unit, which can be drawn."),
    ]
    note: Annotated[
        str,
        length(NOTE_GRAPHEMES_MAX),
        visible_text(NOTE_GRAPHEMES_MAX),
        about(
            "For operators; the journal keeps it for ever, so name no one.",
            json_schema_extra=VISIBLE_TEXT,
        ),
    ] = ""

    @property
    def decision(self) -> WinnerStatus:
        """What becomes of the unit."""
        return WinnerStatus(self.status)
