"""Share fates and takers in SharesTable: which share is whose, for ever.

The functions of the crowd may only update this table, so a claim is an update where no row is, and
what a settlement writes is not theirs to write (docs/adr/0018).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from operator import attrgetter, itemgetter
from typing import Any

from redpacket.adapters import keys
from redpacket.adapters.dynamo import items
from redpacket.adapters.dynamo.client import (
    KEYS_PER_READ,
    Dynamo,
    Guarded,
    Operation,
    Row,
    create,
    update,
    values,
)
from redpacket.domain.claim import Fate, Quota, RecordStatus, ShareFate, ShareRef, Taker
from redpacket.domain.errors import InvariantViolated
from redpacket.domain.packet import fate_partitions, part_count
from redpacket.ports.packets import Unreadable

# What the conditions of this module mean.
IS_WAITING = "attribute_exists(work_pk)"
COMES_BEFORE = "work_at_ms < :until_ms"
IS_SETTLED = "attribute_exists(settled_at_ms)"
IS_WITHIN_QUOTA = "attribute_not_exists(claim_count) OR claim_count < :count_max"

_share_no = attrgetter("share_no")
_work_at_ms = itemgetter("work_at_ms")

_BLOCKS_PER_PAGE = 6
"""Most blocks of 4 KB that one page reads, each half a read unit; an empty partition is one."""

_SHARES_PER_BLOCK = 18
"""A claim takes 209 bytes with a user id of 36 characters and a nickname of six Chinese signs."""


class DynamoShares:
    """The half of `Packets` that is about shares."""

    def __init__(
        self,
        dynamo: Dynamo,
        shares_table: str,
        quotas_table: str | None,
        work_shards: Sequence[int],
    ) -> None:
        self._dynamo = dynamo
        self._shares = shares_table
        # The part of the work lists that this sweep takes.
        self._work_shards = work_shards
        # Only who records claims has it.
        self._quotas = quotas_table

    def list_shares(self, packet_id: str) -> list[ShareFate]:
        parts = [self.list_part_shares(packet_id, part) for part in range(part_count(packet_id))]
        return parts[0] if len(parts) == 1 else sorted(chain(*parts), key=_share_no)

    def list_part_shares(self, packet_id: str, part: int) -> list[ShareFate]:
        return sorted(self.scan_part_shares(packet_id, part), key=_share_no)

    def scan_part_shares(self, packet_id: str, part: int, after_no: int = 0) -> Iterator[ShareFate]:
        first = f"{keys.SHARE_PREFIX}{after_no + 1:07d}"
        for partition in keys.share_partitions(packet_id, part):
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
                    msg = f"packet {packet_id} has a share that is not readable"
                    raise InvariantViolated(msg) from error

    def list_some_shares(
        self, packet_id: str, after_no: int, limit: int
    ) -> tuple[list[ShareFate], int | None]:
        partitions = fate_partitions(packet_id)
        # Below 0 it is where a partition begins.
        partition = ((after_no - 1) if after_no > 0 else -after_no) % partitions
        first, left = max(0, after_no + 1), _BLOCKS_PER_PAGE
        found: list[ShareFate] = []
        while left > 0:
            asked = min(limit + 1 - len(found), left * _SHARES_PER_BLOCK)
            rows = self._dynamo.query_some(
                self._shares,
                asked,
                KeyConditionExpression="pk = :pk AND sk BETWEEN :first AND :last",
                ExpressionAttributeValues=values(
                    pk=keys.shares(packet_id, partition)["pk"],
                    first=f"{keys.SHARE_PREFIX}{first:07d}",
                    last=f"{keys.SHARE_PREFIX}~",
                ),
            )
            found += [items.share_of(row) for row in rows]
            if len(rows) == asked:
                page = found[:limit]
                return page, page[-1].share_no
            partition += 1
            if partition == partitions:
                return found, None
            first, left = 0, left - max(1, -(-len(rows) // _SHARES_PER_BLOCK))
        return found, -partition

    def find_taker(self, packet_id: str, user_id: str) -> Taker | None:
        row = self._dynamo.get_seen(self._shares, keys.taker(packet_id, user_id))
        return items.taker_of(row) if row else None

    def find_share_of(self, packet_id: str, user_id: str) -> ShareFate | None:
        taker = self._dynamo.get(self._shares, keys.taker(packet_id, user_id))
        if taker is None:
            return None
        share_no = items.taker_of(taker).share_no
        share = self._dynamo.get(self._shares, keys.share(packet_id, share_no))
        return items.share_of(share) if share else None

    def list_refs(self, refs: Sequence[ShareRef]) -> list[ShareFate]:
        row_keys = [keys.share(ref.packet_id, ref.share_no) for ref in dict.fromkeys(refs)]
        return [items.share_of(row) for row in self._get_all(row_keys)]

    def record_claim(self, share: ShareFate, quota: Quota | None = None) -> RecordStatus:
        if share.taker is None or share.fate is not Fate.CLAIMED:
            msg = "only a claim has a taker to record"
            raise ValueError(msg)
        user_id = share.taker.user_id
        # In the order of precedence of their refusals.
        writes = [
            # I4: one share
            Guarded(
                create(self._shares, items.taker_row(share, user_id)),
                lambda _: RecordStatus.USER_HAS_SHARE,
            ),
            # I3: one fate
            Guarded(create(self._shares, items.share_row(share)), _share_refusal),
        ]
        if quota:
            # I9: no more than the quota
            counted = self._count_claim(quota, user_id, share.decided_at_ms)
            writes.append(Guarded(counted, lambda _: RecordStatus.QUOTA_EXHAUSTED))
        return self._dynamo.attempt(writes) or RecordStatus.RECORDED

    def count_claims(self, campaign_id: str, user_id: str) -> int:
        row = self._dynamo.get(self._counts_table, keys.claim_count(campaign_id, user_id))
        return int(row["claim_count"]) if row else 0

    def mark_requeued(self, share: ShareFate, again_at_ms: int) -> None:
        self._dynamo.write(
            update(
                self._shares,
                keys.share(share.packet_id, share.share_no),
                "SET work_at_ms = :again_at_ms, requeued_count = :count",
                condition=IS_WAITING,
                again_at_ms=again_at_ms,
                count=share.requeued_count + 1,
            )
        )

    def mark_done(self, share: ShareFate) -> None:
        self._dynamo.write(
            update(
                self._shares,
                keys.share(share.packet_id, share.share_no),
                "REMOVE work_pk, work_at_ms",
                condition=IS_SETTLED,
            )
        )

    def list_unsettled(self, until_ms: int, limit: int) -> list[ShareRef | Unreadable]:
        rows = self._work(self._shares, "settle", until_ms, limit)
        return [items.find_ref(row) or Unreadable(row["pk"], row["sk"]) for row in rows]

    def set_aside(self, found: ShareRef | Unreadable, until_ms: int) -> None:
        if isinstance(found, Unreadable):
            key = {"pk": found.pk, "sk": found.sk}
        else:
            key = keys.share(found.packet_id, found.share_no)
        self._dynamo.write(
            update(
                self._shares,
                key,
                "SET work_at_ms = :until_ms",
                condition=COMES_BEFORE,
                until_ms=until_ms,
            )
        )

    def list_takers(self, packet_id: str, user_ids: Sequence[str]) -> list[Taker]:
        wanted = [keys.taker(packet_id, user_id) for user_id in dict.fromkeys(user_ids)]
        return [items.taker_of(row) for row in self._get_all(wanted)]

    def list_winners(self, packet_id: str, user_ids: Sequence[str]) -> list[Taker]:
        return [
            items.taker_of(row)
            for user_id in dict.fromkeys(user_ids)
            for key in [keys.taker(packet_id, user_id)]
            for row in self._dynamo.query(
                self._shares,
                KeyConditionExpression="pk = :pk AND begins_with(sk, :taker)",
                ExpressionAttributeValues=values(pk=key["pk"], taker=key["sk"]),
                ConsistentRead=True,
            )
        ]

    def _get_all(self, row_keys: Sequence[dict[str, str]]) -> Iterator[dict[str, Any]]:
        for start in range(0, len(row_keys), KEYS_PER_READ):
            chunk = row_keys[start : start + KEYS_PER_READ]
            yield from self._dynamo.get_many(self._shares, chunk, is_strong=True)

    @property
    def _counts_table(self) -> str:
        if self._quotas is None:
            raise InvariantViolated("these packets know no quotas")
        return self._quotas

    def _count_claim(self, quota: Quota, user_id: str, at_ms: int) -> Operation:
        return update(
            self._counts_table,
            keys.claim_count(quota.campaign_id, user_id),
            # Reconciliation compares counts that are old enough with what was claimed by then.
            "ADD claim_count :one SET first_at_ms = if_not_exists(first_at_ms, :at_ms)",
            condition=IS_WITHIN_QUOTA,
            one=1,
            at_ms=at_ms,
            count_max=quota.count_max,
        )

    def _work(self, table: str, kind: str, until_ms: int, limit: int) -> list[dict[str, Any]]:
        """Return the oldest rows of a work list: a fair share from each shard, and what is left.

        All due packets of one sender are in one shard.
        """

        def oldest(shard: int, count: int) -> list[dict[str, Any]]:
            return self._dynamo.query_some(
                table,
                count,
                IndexName="by_work",
                KeyConditionExpression="work_pk = :work AND work_at_ms <= :until_ms",
                ExpressionAttributeValues=values(work=keys.work(kind, shard), until_ms=until_ms),
            )

        fair = limit // len(self._work_shards)
        found = {shard: oldest(shard, fair) for shard in self._work_shards}
        full = [shard for shard, rows in found.items() if len(rows) == fair]
        spare = limit - sum(len(rows) for rows in found.values())
        if full and spare >= len(full):
            found |= {shard: oldest(shard, fair + spare // len(full)) for shard in full}
        # Where time runs out, no shard is the last one every time.
        return sorted(chain(*found.values()), key=_work_at_ms)


def _share_refusal(found: Row) -> RecordStatus:
    is_refunded = found["fate"] == Fate.REFUNDED
    return RecordStatus.SHARE_REFUNDED if is_refunded else RecordStatus.SHARE_TAKEN
