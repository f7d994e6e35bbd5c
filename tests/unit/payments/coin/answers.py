"""The coin's field in answers that have a field for each provider."""

from typing import Annotated

from redpacket.packets.api.answers import SentPacket
from redpacket.payments.api.answers import Payment
from redpacket.platform.http.bodies import about

CoinPrompt = Annotated[dict[str, str] | None, about("Data that the coin's client shows.", None)]
FIELDS = {Payment: CoinPrompt, SentPacket: CoinPrompt}
