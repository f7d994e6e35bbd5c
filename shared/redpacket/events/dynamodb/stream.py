"""Parser that turns DynamoDB stream records into the changes that cause events."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from redpacket.events.model.events import Change, Subject
from redpacket.lottery.dynamodb import keys as draw_keys
from redpacket.lottery.dynamodb.items import draw_of
from redpacket.lottery.dynamodb.winners import winner_of
from redpacket.packets.dynamodb import items, keys
from redpacket.payments.dynamodb import keys as payment_keys
from redpacket.payments.dynamodb.items import payment_of, withdrawal_of
from redpacket.platform.dynamodb.client import from_wire
from redpacket.platform.restored import RESTORED


def change_of(record: Mapping[str, Any]) -> Change | None:
    """Parse a record; return None if it causes no events. Raises for a malformed row.

    The insertion of a restored row returns None, because it would repeat old events.
    """
    images = record["dynamodb"]
    if "NewImage" not in images:
        return None
    after = from_wire(images["NewImage"])
    if "OldImage" not in images and RESTORED in after:
        return None
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
    if place.startswith(draw_keys.UNIT_PREFIX):
        return winner_of
    # Other rows with this sort key, in PacketsTable, map a payment to its packet.
    if place == payment_keys.PAYMENT and "payment_status" in row:
        return payment_of
    return withdrawal_of if place == payment_keys.WITHDRAWAL else None
