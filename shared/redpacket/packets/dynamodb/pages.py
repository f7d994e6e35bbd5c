"""Final pages and running sums in PacketsTable, so that record pages need not read all shares."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from typing import Any

from redpacket.packets.dynamodb import items, keys
from redpacket.packets.dynamodb.thanks import DynamoThanks
from redpacket.packets.model.claim import Share, ShareStatus
from redpacket.packets.model.packet import Packet, partition_count
from redpacket.packets.model.seed_keys import SeedKeys
from redpacket.packets.ports import Settled
from redpacket.platform.dynamodb.client import Dynamo, put, values
from redpacket.platform.dynamodb.compression import json_text, packed, unpacked
from redpacket.platform.dynamodb.lists import readable
from redpacket.platform.user import User

CLAIMS_PER_PAGE = 50
"""Claims per stored page of about 2.2 KB; one read unit returns any 100 consecutive claims."""

_PARTITIONS_PER_PAGE = 2
"""Maximum partitions to read for one page; each costs at least half a read unit."""


class DynamoPages:
    """Repository of final pages and running sums, with eventually consistent reads."""

    def __init__(self, dynamo: Dynamo, seeds: SeedKeys | None = None) -> None:
        self._dynamo = dynamo
        self._table = dynamo.tables.packets
        self._seeds = seeds
        self.thanks = DynamoThanks(dynamo)

    def get_eventually_consistent(self, packet_id: str) -> Packet | None:
        key = keys.packet(packet_id)
        # Read a missing packet again: an eventually consistent read may miss a new packet.
        row = self._dynamo.get(self._table, key, is_strong=False)
        row = row or self._dynamo.get(self._table, key)
        return items.packet_of(row, self._seeds) if row else None

    def list_eventually_consistent(self, packet_ids: Sequence[str]) -> list[Packet]:
        """Return the packets that exist and whose rows are readable."""
        row_keys = [keys.packet(packet_id) for packet_id in dict.fromkeys(packet_ids)]
        rows = self._dynamo.get_many(self._table, row_keys, is_strong=False)
        return readable(partial(items.packet_of, seeds=self._seeds), rows)

    def put_final(self, packet_id: str, shares: Sequence[Share]) -> None:
        """Write pages with the claims among *shares*, which are all shares of a shard in order."""
        claims: dict[int, list[Share]] = defaultdict(list)
        for share in shares:
            if share.status is ShareStatus.CLAIMED:
                claims[(share.share_no - 1) % partition_count(packet_id)].append(share)
        for partition, of_partition in claims.items():
            for start in range(0, len(of_partition), CLAIMS_PER_PAGE):
                page = of_partition[start : start + CLAIMS_PER_PAGE]
                key = keys.final_page(packet_id, partition, page[-1].share_no)
                # A final page never changes, so writing it again has no effect.
                self._dynamo.write(put(self._table, {**key, "claims": _packed(page)}))

    def list_final(
        self, packet_id: str, after_no: int, limit: int
    ) -> tuple[list[Share], int | None]:
        """Return a page of a closed packet's claims, like `PacketReader.list_some_shares`."""
        partitions = partition_count(packet_id)
        # A value of 0 or below starts a partition, as in `PacketReader.list_some_shares`.
        partition = ((after_no - 1) if after_no > 0 else -after_no) % partitions
        # The first claim may be anywhere in its stored page.
        row_limit = -(-limit // CLAIMS_PER_PAGE) + (after_no > 0)
        final: list[Share] = []
        for looked in range(_PARTITIONS_PER_PAGE):
            first = after_no + 1 if looked == 0 and after_no > 0 else 0
            key = keys.final_page(packet_id, partition, first)
            rows = self._dynamo.query_some(
                self._table,
                row_limit,
                KeyConditionExpression="pk = :pk AND sk BETWEEN :first AND :last",
                ExpressionAttributeValues=values(
                    pk=key["pk"], first=key["sk"], last=f"{keys.FINAL_PREFIX}~"
                ),
            )
            claims = [share for row in rows for share in _unpacked(packet_id, row)]
            final += [share for share in claims if share.share_no >= first]
            # The last stored page of a partition may also be full.
            has_more = len(rows) == row_limit and len(claims) == row_limit * CLAIMS_PER_PAGE
            if has_more or len(final) > limit:
                page = final[:limit]
                return page, page[-1].share_no
            partition += 1
            if partition == partitions:
                return final, None
            if len(rows) > 1 or len(final) == limit:
                break
            row_limit = 1
        return final, -partition

    def add_settled(self, packet_id: str, settled: Settled) -> None:
        """Add to the sums displayed for a large packet until it closes; the sums may be inexact."""
        self._dynamo.update(
            self._table,
            keys.settled_sums(packet_id),
            "ADD settled_count :count, settled_fen :fen",
            count=settled.count,
            fen=settled.fen,
        )

    def find_settled(self, packet_id: str) -> Settled:
        row = self._dynamo.get(self._table, keys.settled_sums(packet_id), is_strong=False)
        return Settled(int(row["settled_count"]), int(row["settled_fen"])) if row else Settled(0, 0)


def _packed(page: Sequence[Share]) -> str | bytes:
    """Return a page's claims as columns, which compress better than rows."""
    claimers = [share.claimer or User("") for share in page]
    columns = [
        [share.share_no for share in page],
        [share.amount_fen for share in page],
        [share.decided_at_ms for share in page],
        [claimer.user_id for claimer in claimers],
    ]
    return packed(json_text(columns))


def _unpacked(packet_id: str, row: dict[str, Any]) -> list[Share]:
    columns = json.loads(unpacked(row["claims"]))
    return [
        Share(
            packet_id=packet_id,
            share_no=share_no,
            status=ShareStatus.CLAIMED,
            amount_fen=amount_fen,
            decided_at_ms=at_ms,
            claimer=User(user_id),
            # Every claim on a final page is settled, but the page does not store the time.
            settled_at_ms=at_ms,
        )
        for share_no, amount_fen, at_ms, user_id in zip(*columns, strict=True)
    ]
