"""Event source mapping between the payout queue and the payout function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from redpacket.adapters.aws.errors import translated


class LambdaDeliveries:
    """AWS implementation of Deliveries."""

    def __init__(self, connect: Callable[[], Any], mapping_id: str) -> None:
        self._connect = connect
        self._mapping_id = mapping_id

    def turn(self, *, is_on: bool) -> None:
        # A mapping that changed a moment ago refuses changes until it has taken effect.
        with translated("the payout queue's mapping"):
            self._connect().update_event_source_mapping(UUID=self._mapping_id, Enabled=is_on)
