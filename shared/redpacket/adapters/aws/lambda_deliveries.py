"""The payout queue's event source mapping: what hands its messages to the payout function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from redpacket.adapters.aws.errors import translated


class LambdaDeliveries:
    """Implements Deliveries."""

    def __init__(self, connect: Callable[[], Any], mapping_id: str) -> None:
        self._connect = connect
        self._mapping_id = mapping_id

    def turn(self, *, is_on: bool) -> None:
        # One that was turned a moment ago refuses until that has taken effect.
        with translated("the payout queue's mapping"):
            self._connect().update_event_source_mapping(UUID=self._mapping_id, Enabled=is_on)
