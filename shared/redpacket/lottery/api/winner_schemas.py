"""Request bodies of won goods: the winner's address and the operator's decision."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import StringConstraints

from redpacket.lottery.model.winners import Address, WinnerStatus
from redpacket.platform.http.bodies import StrictBody, about, example
from redpacket.platform.http.request_fields import (
    ADDRESS_GRAPHEMES_MAX,
    Nickname,
    Note,
    PostalAddress,
)


class AddressBody(StrictBody):
    """PUT /campaigns/{campaign_id}/draws/{draw_id}/address."""

    model_config = example(
        {"name": "王小明", "phone": "+86 138 0013 8000", "address": "上海市世纪大道 1 号"}
    )

    name: Annotated[Nickname, about("The recipient.")]
    phone: Annotated[
        str, StringConstraints(pattern=r"^\+?[0-9][0-9 -]{4,24}$"), about("Digits, spaces and -.")
    ]
    address: Annotated[PostalAddress, about(f"At most {ADDRESS_GRAPHEMES_MAX} characters.")]

    @property
    def given(self) -> Address:
        """Return the address as a model value."""
        return Address(self.name, self.phone, self.address)


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
