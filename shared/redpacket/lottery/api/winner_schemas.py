"""Request bodies for won goods: the winner's address and the operator's decision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

from pydantic import BeforeValidator, StringConstraints

from redpacket.lottery.model.winners import Address, WinnerStatus
from redpacket.platform.http.bodies import StrictBody, about, example
from redpacket.platform.http.request_fields import (
    ADDRESS_GRAPHEMES_MAX,
    Nickname,
    Note,
    PostalAddress,
)
from redpacket.platform.text import pasted, pasted_phone


def _as_seen(clean: Callable[[str], str]) -> BeforeValidator:
    """Return a validator that first normalizes pasted names, numbers and addresses."""
    return BeforeValidator(lambda text: clean(text) if isinstance(text, str) else text)


class AddressBody(StrictBody):
    """PUT /campaigns/{campaign_id}/draws/{draw_id}/address."""

    model_config = example(
        {"name": "王小明", "phone": "+86 138 0013 8000", "address": "上海市世纪大道 1 号"}
    )

    name: Annotated[Nickname, _as_seen(pasted), about("Recipient's name.")]
    phone: Annotated[
        str,
        StringConstraints(pattern=r"^\+?[0-9][0-9 -]{3,23}[0-9]$"),
        _as_seen(pasted_phone),
        about("Digits, spaces, and hyphens; digits and dashes from other scripts are converted."),
    ]
    address: Annotated[
        PostalAddress, _as_seen(pasted), about(f"At most {ADDRESS_GRAPHEMES_MAX} characters.")
    ]

    @property
    def given(self) -> Address:
        """Return the address as a model value."""
        return Address(self.name, self.phone, self.address)


class WinnerBody(StrictBody):
    """PUT /admin/campaigns/{campaign_id}/winners/{unit}; the first decision is final."""

    model_config = example({"status": "handed_over", "note": "by courier"})

    status: Annotated[
        Literal["handed_over", "forfeited"],
        about("`forfeited` adds one unit to the prize's stock."),
    ]
    note: Annotated[Note, about("Permanent note in the audit log. Do not include names.")] = ""

    @property
    def decision(self) -> WinnerStatus:
        """Return the decision as a model value."""
        return WinnerStatus(self.status)
