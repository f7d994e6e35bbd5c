"""Work lists of the sweep, read from the by_work indexes of PacketsTable and SharesTable."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from operator import itemgetter
from typing import Any

from redpacket.ledger.dynamodb import keys as ledger_keys
from redpacket.packets.dynamodb import items, keys
from redpacket.packets.dynamodb.windows import DynamoWindows
from redpacket.packets.model.claim import ShareRef
from redpacket.packets.ports import Unreadable
from redpacket.platform.bounds import AT_MS_MAX
from redpacket.platform.dynamodb.client import Dynamo, values

COMES_BEFORE = "work_at_ms < :until_ms"

_ASIDE_MS = 3_600_000
"""Milliseconds for which a work list hides a row that does not name a packet."""

_work_at_ms = itemgetter("work_at_ms")


class DynamoWorkLists:
    """Work lists, oldest first; *shards* limits them to one sweep's shards.

    The indexes lag, so the lists only name candidates.
    """

    def __init__(
        self,
        dynamo: Dynamo,
        shards: Sequence[int] = range(ledger_keys.WORK_SHARDS),
    ) -> None:
        self._dynamo = dynamo
        self._packets = dynamo.tables.packets
        self._shares = dynamo.tables.shares
        self._shards = shards
        self.windows = DynamoWindows(dynamo)

    def list_unloaded(self, until_ms: int, limit: int) -> list[str]:
        """Return ids of packets sent before *until_ms* that are not marked as loaded."""
        return self._packet_ids("load", until_ms, limit)

    def list_unpaid(self, until_ms: int, limit: int) -> list[str]:
        return self._packet_ids("unpaid", until_ms, limit)

    def list_due(self, until_ms: int, limit: int) -> list[str]:
        """Return ids of packets that expired before *until_ms* and are not closed."""
        return self._packet_ids("due", until_ms, limit)

    def list_edited(self, limit: int) -> list[str]:
        """Return ids of campaigns whose packets must still follow an edit of the window."""
        rows = self._oldest(self._packets, "edited", AT_MS_MAX, limit)
        return [row["pk"].removeprefix(keys.EDITED_PREFIX) for row in rows]

    def list_unsettled(self, until_ms: int, limit: int) -> list[ShareRef | Unreadable]:
        """Return claims that have waited for settlement or closing since before *until_ms*."""
        rows = self._oldest(self._shares, "settle", until_ms, limit)
        return [items.find_ref(row) or Unreadable(row["pk"], row["sk"]) for row in rows]

    def delay(self, packet_id: str, until_ms: int) -> None:
        self._delay(self._packets, keys.packet(packet_id), until_ms)

    def set_aside(self, item: ShareRef | Unreadable, until_ms: int) -> None:
        """Hide a row of `list_unsettled` until *until_ms*."""
        if isinstance(item, Unreadable):
            key = item._asdict()
        else:
            key = keys.share(item.packet_id, item.share_no)
        self._delay(self._shares, key, until_ms)

    def _packet_ids(self, kind: str, until_ms: int, limit: int) -> list[str]:
        rows = self._oldest(self._packets, kind, until_ms, limit)
        ids: list[str] = []
        for row in rows:
            packet_id = row["pk"].removeprefix("packet#")
            key = {name: row[name] for name in ("pk", "sk")}
            if key == keys.packet(packet_id):
                ids.append(packet_id)
            else:
                # The row is forged. Hide it, so that it does not block the others.
                self._delay(self._packets, key, until_ms + _ASIDE_MS)
        return ids

    def _delay(self, table: str, key: dict[str, str], until_ms: int) -> None:
        self._dynamo.update(
            table, key, "SET work_at_ms = :until_ms", condition=COMES_BEFORE, until_ms=until_ms
        )

    def _oldest(self, table: str, kind: str, until_ms: int, limit: int) -> list[dict[str, Any]]:
        """Return the oldest rows: equally many per shard, then more from shards that have more."""

        def query(shard: int, count: int) -> list[dict[str, Any]]:
            return self._dynamo.query_some(
                table,
                count,
                IndexName="by_work",
                KeyConditionExpression="work_pk = :work AND work_at_ms <= :until_ms",
                ExpressionAttributeValues=values(
                    work=ledger_keys.work(kind, shard), until_ms=until_ms
                ),
            )

        fair = max(1, limit // len(self._shards))
        by_shard = {shard: query(shard, fair) for shard in self._shards}
        full = [shard for shard, rows in by_shard.items() if len(rows) == fair]
        spare = limit - sum(len(rows) for rows in by_shard.values())
        if full and spare >= len(full):
            by_shard |= {shard: query(shard, fair + spare // len(full)) for shard in full}
        # Sort by age. Otherwise the last shard would always lose out when time is short.
        return sorted(chain(*by_shard.values()), key=_work_at_ms)
