"""The payout queue's event source mapping: what hands its messages to the payout function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from redpacket.domain.errors import Unavailable


class LambdaDeliveries:
    """Implements Deliveries."""

    def __init__(self, connect: Callable[[], Any], mapping_id: str) -> None:
        self._connect = connect
        self._mapping_id = mapping_id

    def turn(self, *, is_on: bool) -> None:
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            self._connect().update_event_source_mapping(UUID=self._mapping_id, Enabled=is_on)
        # One that was turned a moment ago refuses until that has taken effect.
        except (BotoCoreError, ClientError) as error:
            raise Unavailable("the payout queue's mapping can't be changed now") from error
