"""The body of a switch."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from redpacket.edge.schemas.bodies import StrictBody, example
from redpacket.edge.schemas.fields import VISIBLE_TEXT, length, visible_text

REASON_GRAPHEMES_MAX = 100


class SwitchBody(StrictBody):
    """PUT /admin/switches/{name}; *reason* is for operators who find it off."""

    model_config = example({"on": False, "reason": "payouts are being checked"})

    on: Annotated[
        bool,
        Field(description="False refuses what the switch names, everywhere within ten seconds."),
    ]
    reason: Annotated[
        str,
        length(REASON_GRAPHEMES_MAX),
        visible_text(REASON_GRAPHEMES_MAX),
        Field(description="For operators who find it off.", json_schema_extra=VISIBLE_TEXT),
    ] = ""
