"""Repository of claimed and refunded shares, and of their claimers, in SharesTable."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import attrgetter

from redpacket.packets.dynamodb import items, keys
from redpacket.packets.model.claim import Claimer, Share, ShareRef
from redpacket.packets.model.packet import partition_count
from redpacket.platform.dynamodb.client import Dynamo, values
from redpacket.platform.errors import InvariantViolated

IS_WAITING = "attribute_exists(work_pk)"
IS_SETTLED = "attribute_exists(settled_at_ms)"

_share_no = attrgetter("share_no")

_QUERIES_PER_PAGE = 6
"""Maximum partitions to read for one page; some of them may be empty."""


class DynamoShares:
    """Repository of shares in SharesTable."""

    def __init__(self, dynamo: Dynamo) -> None:
        self._dynamo = dynamo
        self._shares = dynamo.tables.shares

    def list_shard_shares(self, packet_id: str, shard: int) -> list[Share]:
        return sorted(self.scan_shard_shares(packet_id, shard), key=_share_no)

    def scan_shard_shares(self, packet_id: str, shard: int, after_no: int = 0) -> Iterator[Share]:
        first = f"{keys.SHARE_PREFIX}{after_no + 1:07d}"
        for partition in keys.share_partitions(packet_id, shard):
            for row in self._dynamo.query(
                self._shares,
                KeyConditionExpression="pk = :pk AND sk BETWEEN :first AND :last",
                ExpressionAttributeValues=values(
                    pk=keys.shares(packet_id, partition)["pk"],
                    first=first,
                    last=f"{keys.SHARE_PREFIX}~",
                ),
                ConsistentRead=True,
            ):
                try:
                    yield items.share_of(row)
                except (KeyError, ValueError) as error:
                    raise InvariantViolated(
                        f"packet {packet_id} has an unreadable share"
                    ) from error

    def list_some_shares(
        self, packet_id: str, after_no: int, limit: int
    ) -> tuple[list[Share], int | None]:
        partitions = partition_count(packet_id)
        # A value of 0 or below encodes the start of a partition; "-" sorts before all digits.
        partition = ((after_no - 1) if after_no > 0 else -after_no) % partitions
        first = f"{keys.SHARE_PREFIX}{after_no + 1:07d}"
        shares: list[Share] = []
        for _ in range(_QUERIES_PER_PAGE):
            row_limit = limit + 1 - len(shares)
            rows = self._dynamo.query_some(
                self._shares,
                row_limit,
                KeyConditionExpression="pk = :pk AND sk BETWEEN :first AND :last",
                ExpressionAttributeValues=values(
                    pk=keys.shares(packet_id, partition)["pk"],
                    first=first,
                    last=f"{keys.SHARE_PREFIX}~",
                ),
            )
            shares += [items.share_of(row) for row in rows]
            if len(rows) == row_limit:
                page = shares[:limit]
                return page, page[-1].share_no
            partition += 1
            if partition == partitions:
                return shares, None
            first = keys.SHARE_PREFIX
        return shares, -partition

    def find_claimer(self, packet_id: str, user_id: str) -> Claimer | None:
        """Return the claimer row of a user's share from an eventually consistent read."""
        row = self._dynamo.get(self._shares, keys.claimer(packet_id, user_id), is_strong=False)
        return items.claimer_of(row) if row else None

    def find_share_of(
        self, packet_id: str, user_id: str, *, is_strong: bool = True
    ) -> Share | None:
        """Return the share that a user owns; if not *is_strong*, its settlement may be missing."""
        claimer = self._dynamo.get(self._shares, keys.claimer(packet_id, user_id))
        if claimer is None:
            return None
        key = keys.share(packet_id, items.claimer_of(claimer).share_no)
        share = self._dynamo.get(self._shares, key, is_strong=is_strong)
        share = share or self._dynamo.get(self._shares, key)
        return items.share_of(share) if share else None

    def list_refs(self, refs: Sequence[ShareRef]) -> list[Share]:
        row_keys = [keys.share(ref.packet_id, ref.share_no) for ref in dict.fromkeys(refs)]
        rows = self._dynamo.get_many(self._shares, row_keys, is_strong=True)
        return [items.share_of(row) for row in rows]

    def mark_requeued(self, share: Share, again_at_ms: int) -> None:
        """Hide an unsettled claim from the sweep until *again_at_ms*."""
        self._dynamo.update(
            self._shares,
            keys.share(share.packet_id, share.share_no),
            "SET work_at_ms = :again_at_ms, requeued_count = :count",
            condition=IS_WAITING,
            again_at_ms=again_at_ms,
            count=share.requeued_count + 1,
        )

    def mark_done(self, share: Share) -> None:
        """Remove a settled claim from the sweep's list."""
        self._dynamo.update(
            self._shares,
            keys.share(share.packet_id, share.share_no),
            "REMOVE work_pk, work_at_ms",
            condition=IS_SETTLED,
        )

    def list_claimers(self, packet_id: str, user_ids: Sequence[str]) -> list[Claimer]:
        wanted = [keys.claimer(packet_id, user_id) for user_id in dict.fromkeys(user_ids)]
        rows = self._dynamo.get_many(self._shares, wanted, is_strong=True)
        return [items.claimer_of(row) for row in rows]

    def list_winners(self, packet_id: str, user_ids: Sequence[str]) -> list[Claimer]:
        return [
            items.claimer_of(row)
            for user_id in dict.fromkeys(user_ids)
            for key in [keys.claimer(packet_id, user_id)]
            for row in self._dynamo.query(
                self._shares,
                KeyConditionExpression="pk = :pk AND begins_with(sk, :claimer)",
                ExpressionAttributeValues=values(pk=key["pk"], claimer=key["sk"]),
                ConsistentRead=True,
            )
        ]
