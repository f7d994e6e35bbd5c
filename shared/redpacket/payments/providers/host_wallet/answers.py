"""Field for the host's wallet in responses that all providers share."""

from __future__ import annotations

from typing import Annotated

from redpacket.packets.api.answers import SentPacket
from redpacket.payments.api.answers import Payment
from redpacket.platform.http.bodies import about

HostPrompt = Annotated[
    dict[str, str] | None,
    about(
        "Fields from the host wallet's response; null for other providers, after the payment has "
        "ended, and while the wallet is unavailable.",
        None,
    ),
]
FIELDS = {Payment: HostPrompt, SentPacket: HostPrompt}
"""Types of the field `host`, keyed by response type."""
