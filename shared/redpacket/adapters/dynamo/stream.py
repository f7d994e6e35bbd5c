"""Records of the tables' streams, as the changes that events are made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from redpacket.adapters.dynamo import draw_keys, items, keys, payment_keys
from redpacket.adapters.dynamo.client import from_wire
from redpacket.adapters.dynamo.draw_items import draw_of
from redpacket.adapters.dynamo.payment_items import payment_of, withdrawal_of
from redpacket.ports.events import Change, Subject


def change_of(record: Mapping[str, Any]) -> Change | None:
    """Read a record; None for a row that no event is of. Raises where such a row can't be read."""
    images = record["dynamodb"]
    if "NewImage" not in images:
        return None
    after = from_wire(images["NewImage"])
    read = _reader(after)
    if read is None:
        return None
    before = images.get("OldImage")
    return Change(read(from_wire(before)) if before else None, read(after))


def _reader(row: Mapping[str, Any]) -> Callable[[dict[str, Any]], Subject] | None:
    place = str(row.get("sk", ""))
    if place == keys.PACKET:
        return items.packet_of
    if place.startswith(keys.SHARE_PREFIX) and str(row["pk"]).startswith(keys.SHARES_PREFIX):
        return items.share_of
    if place.startswith(draw_keys.DRAW_PREFIX) and "draw_id" in row:
        return draw_of
    # PacketsTable has rows of these names, too, which lead from a payment to its packet.
    if place == payment_keys.PAYMENT and "payment_status" in row:
        return payment_of
    return withdrawal_of if place == payment_keys.WITHDRAWAL else None
