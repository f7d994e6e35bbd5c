"""Operators' lists of campaigns and open packets, each read from an index."""

from __future__ import annotations

import re
from typing import Any

from redpacket.approvals.model import CAMPAIGN_CURSOR
from redpacket.campaigns.dynamodb import keys as campaign_keys
from redpacket.campaigns.dynamodb.items import campaign_of
from redpacket.campaigns.model import Campaign
from redpacket.ledger.dynamodb import keys
from redpacket.lottery.dynamodb.winners import read_in_order
from redpacket.packets.dynamodb import keys as packet_keys
from redpacket.platform.dynamodb.client import Dynamo, Row, WireItem, to_wire, values
from redpacket.platform.errors import invalid_cursor

_CAMPAIGN_CURSOR = re.compile(CAMPAIGN_CURSOR)


class DynamoOperatorLists:
    """Operators' lists; lists may lag."""

    def __init__(self, dynamo: Dynamo) -> None:
        self._dynamo = dynamo
        self._campaigns = dynamo.tables.campaigns
        self._packets = dynamo.tables.packets

    def list_campaigns(self, cursor: str | None, limit: int) -> tuple[list[Campaign], str | None]:
        """Return a page of campaigns, latest start first, and the next cursor.

        Raises InvalidRequest for a bad cursor.
        """
        if cursor is not None and not _CAMPAIGN_CURSOR.fullmatch(cursor):
            raise invalid_cursor()
        last = cursor or keys.list_position(10**13 - 1, "~")
        listed = self._dynamo.query_some(
            self._campaigns,
            limit + 2,
            IndexName="by_list",
            KeyConditionExpression="list_pk = :list AND list_sk BETWEEN :first AND :last",
            ExpressionAttributeValues=values(list=campaign_keys.CAMPAIGNS, first="0", last=last),
            ScanIndexForward=False,
        )
        rows = [row for row in listed if row["list_sk"] != cursor]
        page = rows[:limit]
        more = str(page[-1]["list_sk"]) if len(rows) > limit else None
        # The index has only keys, so that spending from a budget does not write it.
        read = read_in_order(
            self._dynamo, self._campaigns, [{"pk": row["pk"], "sk": row["sk"]} for row in page]
        )
        return [campaign_of(row) for row in read], more

    def list_open(self, cursor: str | None, limit: int) -> tuple[list[str], str | None]:
        """Return a page of ids of packets that wait for their end, and the next cursor.

        *cursor* has the form OPEN_CURSOR.
        """
        first, at_ms, after = cursor.split(".") if cursor else ("0", "", "")
        start = {"ExclusiveStartKey": _due_row(int(first), int(at_ms), after)} if cursor else {}
        page: list[tuple[int, dict[str, Any]]] = []
        for shard in range(int(first), keys.WORK_SHARDS):
            rows = self._dynamo.query_some(
                self._packets,
                limit + 1 - len(page),
                IndexName="by_work",
                KeyConditionExpression="work_pk = :list",
                ExpressionAttributeValues=values(list=keys.work("due", shard)),
                **start,
            )
            start = {}
            page += [(shard, row) for row in rows]
            if len(page) > limit:
                shard_of_last, last = page[limit - 1]
                more = f"{shard_of_last}.{last['work_at_ms']}.{_packet_id(last)}"
                return [_packet_id(row) for _, row in page[:limit]], more
        return [_packet_id(row) for _, row in page], None


def _due_row(shard: int, at_ms: int, packet_id: str) -> WireItem:
    """Return a packet's full index position, which is unique for packets of one moment."""
    return to_wire(
        {**packet_keys.packet(packet_id), "work_pk": keys.work("due", shard), "work_at_ms": at_ms}
    )


def _packet_id(row: Row) -> str:
    return str(row["pk"]).removeprefix("packet#")
