"""Lists of campaigns and open packets for operators, each read from an index."""

from __future__ import annotations

from redpacket.approvals.model import CAMPAIGN_CURSOR
from redpacket.campaigns.dynamodb import keys as campaign_keys
from redpacket.campaigns.dynamodb.items import campaign_of
from redpacket.campaigns.model import Campaign
from redpacket.ledger.dynamodb import keys
from redpacket.packets.dynamodb import keys as packet_keys
from redpacket.platform.dynamodb.client import Dynamo, Row
from redpacket.platform.dynamodb.lists import NewestFirst, list_across, readable

_DUE_LISTS = [keys.work("due", shard) for shard in range(keys.WORK_SHARDS)]


class DynamoOperatorLists:
    """Lists for operators; they may lag behind the rows."""

    def __init__(self, dynamo: Dynamo) -> None:
        self._dynamo = dynamo
        self._campaigns = dynamo.tables.campaigns
        self._packets = dynamo.tables.packets

    def list_campaigns(self, cursor: str | None, limit: int) -> tuple[list[Campaign], str | None]:
        """Return a page of campaigns, latest start first, and the next cursor.

        Raises InvalidRequest for a bad cursor.
        """
        # The index has only keys, so that spending from a budget does not write to the index.
        lists = NewestFirst(self._dynamo, self._campaigns, CAMPAIGN_CURSOR)
        rows, more = lists.read_page(campaign_keys.CAMPAIGNS, cursor, limit)
        return readable(campaign_of, rows), more

    def list_open(self, cursor: str | None, limit: int) -> tuple[list[str], str | None]:
        """Return a page of ids of packets that have not ended, and the next cursor.

        *cursor* has the form OPEN_CURSOR.
        """
        first, at_ms, after = cursor.split(".") if cursor else ("0", "", "")
        start: Row = {**packet_keys.packet(after), "work_at_ms": int(at_ms)} if cursor else {}
        rows, last = list_across(
            self._dynamo, self._packets, _DUE_LISTS, (int(first), start), limit
        )
        ids = [_packet_id(row) for row in rows]
        return ids, f"{last[0]}.{last[1]['work_at_ms']}.{ids[-1]}" if last else None


def _packet_id(row: Row) -> str:
    return str(row["pk"]).removeprefix("packet#")
