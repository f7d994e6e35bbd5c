"""Packet rows, share fates and takers in PacketsTable."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain, groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from redpacket.adapters import items, keys
from redpacket.adapters.dynamo import (
    Dynamo,
    Operation,
    TransactionCanceled,
    put,
    update,
    values,
)
from redpacket.domain.claim import (
    Fate,
    Quota,
    RecordStatus,
    ShareFate,
    ShareRef,
    Taker,
)
from redpacket.domain.errors import InvariantViolated
from redpacket.domain.packet import Packet, PacketStatus, Rules, is_cut, part_count
from redpacket.ports import ListItem

if TYPE_CHECKING:
    from redpacket.domain.checks import PacketFacts

# What the conditions of this module mean.
IS_NOT_CLOSED = "#status <> :closed"
IS_CLOSING = "#status = :closing"
IS_OPEN_AND_WON = "#status = :open AND attribute_exists(prize_id)"
IS_UNSETTLED = "attribute_exists(work_pk)"
IS_UNLOADED = "is_loaded = :no"
IS_WITHIN_QUOTA = "attribute_not_exists(claim_count) OR claim_count < :count_max"
NOT_EMPTIED_YET = "attribute_exists(pk) AND attribute_not_exists(emptied_at_ms)"

_KEYS_PER_CALL = 100
"""BatchGetItem's own limit."""

_share_no = attrgetter("share_no")

_KNOWN_MAX = 1_000
"""Packets that a process keeps for what never changes of them: a crowd asks for the same few."""


class DynamoPackets:
    """Implements Packets."""

    def __init__(
        self,
        dynamo: Dynamo,
        table: str,
        quotas_table: str | None = None,
        work_shards: Sequence[int] = range(keys.WORK_SHARDS),
    ) -> None:
        self._dynamo = dynamo
        self._table = table
        # The part of the work lists that this sweep takes.
        self._work_shards = work_shards
        # Only who records claims has it.
        self._quotas = quotas_table
        self._known: dict[str, Packet] = {}

    def find_packet(self, packet_id: str) -> Packet | None:
        row = self._dynamo.get(self._table, keys.packet(packet_id))
        return items.packet_of(row) if row else None

    def find_known(self, packet_id: str) -> Packet | None:
        if packet_id not in self._known:
            packet = self.find_packet(packet_id)
            if packet is None:
                return None
            if len(self._known) >= _KNOWN_MAX:
                self._known.clear()
            self._known[packet_id] = packet
        return self._known[packet_id]

    def find_rules(self, packet_id: str) -> Rules | None:
        packet = self.find_known(packet_id)
        return packet.rules if packet else None

    def list_packets(self, packet_ids: Sequence[str]) -> list[Packet]:
        if not packet_ids:
            return []
        row_keys = [keys.packet(packet_id) for packet_id in dict.fromkeys(packet_ids)]
        rows = self._dynamo.get_many(self._table, row_keys, is_strong=True)
        return [items.packet_of(row) for row in rows]

    def list_shares(self, packet_id: str) -> list[ShareFate]:
        parts = [self.list_part_shares(packet_id, part) for part in range(part_count(packet_id))]
        return parts[0] if len(parts) == 1 else sorted(chain(*parts), key=_share_no)

    def list_part_shares(self, packet_id: str, part: int) -> list[ShareFate]:
        rows = self._dynamo.query(
            self._table,
            KeyConditionExpression="pk = :pk AND begins_with(sk, :share)",
            ExpressionAttributeValues=values(
                pk=keys.shares(packet_id, part)["pk"], share=keys.SHARE_PREFIX
            ),
            ConsistentRead=True,
        )
        return [items.share_of(row) for row in rows]

    def find_share_of(self, packet_id: str, user_id: str) -> ShareFate | None:
        taker = self._dynamo.get(self._table, keys.taker(packet_id, user_id))
        if taker is None:
            return None
        share_key = keys.share(packet_id, int(taker["share_no"]))
        share = self._dynamo.get(self._table, share_key)
        return items.share_of(share) if share else None

    def list_refs(self, refs: Sequence[ShareRef]) -> list[ShareFate]:
        row_keys = [keys.share(ref.packet_id, ref.share_no) for ref in dict.fromkeys(refs)]
        if not row_keys:
            return []
        rows = self._dynamo.get_many(self._table, row_keys, is_strong=True)
        return [items.share_of(row) for row in rows]

    def record_claim(self, share: ShareFate, quota: Quota | None = None) -> RecordStatus:
        if share.taker is None or share.fate is not Fate.CLAIMED:
            msg = "only a claim has a taker to record"
            raise ValueError(msg)
        user_id = share.taker.user_id
        operations = [
            put(self._table, items.share_row(share)),  # I3: one fate
            put(self._table, items.taker_row(share, user_id)),  # I4: one share
        ]
        if quota:
            operations.append(self._count_claim(quota, user_id))  # I9: no more than the quota
        try:
            self._dynamo.transact(operations)
        except TransactionCanceled as canceled:
            share_found, taker_found = canceled.found[:2]
            if taker_found:
                return RecordStatus.USER_HAS_SHARE
            if share_found and share_found["fate"] == Fate.REFUNDED:
                return RecordStatus.SHARE_REFUNDED
            if share_found:
                return RecordStatus.SHARE_TAKEN
            return RecordStatus.QUOTA_EXHAUSTED
        return RecordStatus.RECORDED

    def count_claims(self, campaign_id: str, user_id: str) -> int:
        row = self._dynamo.get(self._counts_table, keys.claim_count(campaign_id, user_id))
        return int(row["claim_count"]) if row else 0

    def mark_loaded(self, packet: Packet) -> None:
        self._dynamo.write(
            update(
                self._table,
                keys.packet(packet.packet_id),
                "SET is_loaded = :yes, work_pk = :due, work_at_ms = :expires_at_ms",
                condition=IS_UNLOADED,
                yes=True,
                no=False,
                due=keys.work("due", keys.work_shard(packet.packet_id)),
                expires_at_ms=packet.expires_at_ms,
            )
        )

    def mark_emptied(self, packet_id: str, emptied_at_ms: int) -> None:
        self._dynamo.write(
            update(
                self._table,
                keys.packet(packet_id),
                "SET emptied_at_ms = :at_ms",
                condition=NOT_EMPTIED_YET,
                at_ms=emptied_at_ms,
            )
        )

    def mark_luckiest(self, share: ShareFate) -> None:
        if share.taker is None:
            return
        self._dynamo.write(
            update(
                self._table,
                keys.taker(share.packet_id, share.taker.user_id),
                "SET is_luckiest = :yes",
                condition="attribute_exists(pk)",
                yes=True,
            )
        )

    def mark_requeued(self, share: ShareFate, again_at_ms: int) -> None:
        self._dynamo.write(
            update(
                self._table,
                keys.share(share.packet_id, share.share_no),
                "SET work_at_ms = :again_at_ms, requeued_count = :count",
                condition=IS_UNSETTLED,
                again_at_ms=again_at_ms,
                count=share.requeued_count + 1,
            )
        )

    def begin_close(self, packet: Packet, now_ms: int) -> Packet:
        operation = update(
            self._table,
            keys.packet(packet.packet_id),
            "SET #status = :closing, is_loaded = :yes, work_pk = :due, work_at_ms = :now_ms",
            condition=IS_NOT_CLOSED,
            closing=PacketStatus.CLOSING,
            closed=PacketStatus.CLOSED,
            yes=True,
            due=keys.work("due", keys.work_shard(packet.packet_id)),
            now_ms=now_ms,
        )
        operation["Update"]["ExpressionAttributeNames"] = {"#status": "status"}
        self._dynamo.write(operation)
        closing = self.find_packet(packet.packet_id)
        if closing is None:
            msg = f"packet {packet.packet_id} vanished"
            raise LookupError(msg)
        return closing

    def mark_step(self, packet: Packet) -> None:
        operation = update(
            self._table,
            keys.packet(packet.packet_id),
            "SET closing_step = :step, luckiest_no = :luckiest_no",
            # Not where another sweep has closed it meanwhile: nobody would come to finish the step.
            condition=IS_CLOSING,
            step=packet.closing_step,
            luckiest_no=packet.luckiest_no,
            closing=PacketStatus.CLOSING,
        )
        operation["Update"]["ExpressionAttributeNames"] = {"#status": "status"}
        self._dynamo.write(operation)

    def reschedule(self, packet_id: str, expires_at_ms: int) -> None:
        operation = update(
            self._table,
            keys.packet(packet_id),
            # Such a packet waits for nothing but its end.
            "SET expires_at_ms = :at_ms, work_at_ms = :at_ms",
            condition=IS_OPEN_AND_WON,
            at_ms=expires_at_ms,
            open=PacketStatus.OPEN,
        )
        operation["Update"]["ExpressionAttributeNames"] = {"#status": "status"}
        self._dynamo.write(operation)

    def list_unloaded(self, until_ms: int, limit: int) -> list[str]:
        return [row["pk"].removeprefix("packet#") for row in self._work("load", until_ms, limit)]

    def list_due(self, until_ms: int, limit: int) -> list[str]:
        return [row["pk"].removeprefix("packet#") for row in self._work("due", until_ms, limit)]

    def list_unsettled(self, until_ms: int, limit: int) -> list[ShareRef]:
        return [items.ref_of(row) for row in self._work("settle", until_ms, limit)]

    def list_takers(self, packet_id: str, user_ids: Sequence[str]) -> list[Taker]:
        rules = self.find_rules(packet_id)
        if rules and rules.prize_id:
            return [taker for user_id in set(user_ids) for taker in self._won(packet_id, user_id)]
        wanted = [keys.taker(packet_id, user_id) for user_id in dict.fromkeys(user_ids)]
        rows: list[dict[str, Any]] = []
        for start in range(0, len(wanted), _KEYS_PER_CALL):
            chunk = wanted[start : start + _KEYS_PER_CALL]
            rows += self._dynamo.get_many(self._table, chunk, is_strong=True)
        return [items.taker_of(row) for row in rows]

    def scan_packets(
        self, escrows_fen: Mapping[str, int]
    ) -> Iterator[PacketFacts | Taker | ShareFate]:
        rows = self._dynamo.scan(self._table)
        for pk, partition in groupby(rows, key=lambda row: str(row["pk"])):
            packet_id = keys.packet_of_part(pk)
            if packet_id is None:
                yield from self._facts(partition, escrows_fen)
            elif self.find_packet(packet_id) is None:
                yield from map(items.share_of, partition)

    def list_sent(self, user_id: str, year: int | None) -> list[ListItem]:
        return [_list_item(row, "total_fen") for row in self._list(keys.sent_list(user_id), year)]

    def list_received(self, user_id: str, year: int | None) -> list[ListItem]:
        rows = self._list(keys.received_list(user_id), year)
        return [_list_item(row, "amount_fen") for row in rows]

    def _facts(
        self, partition: Iterable[dict[str, Any]], escrows_fen: Mapping[str, int]
    ) -> Iterator[PacketFacts | Taker | ShareFate]:
        # Only reconciliation scans.
        from redpacket.domain.checks import PacketFacts
        from redpacket.domain.ledger import escrow_account

        packet: Packet | None = None
        shares: list[ShareFate] = []
        for row in partition:
            sort_key = str(row["sk"])
            if sort_key == keys.PACKET:
                packet = items.packet_of(row)
            elif sort_key.startswith(keys.SHARE_PREFIX):
                shares.append(items.share_of(row))
            elif sort_key.startswith(keys.TAKER_PREFIX):
                yield items.taker_of(row)
        if packet is None:
            yield from shares
            return
        if is_cut(packet.packet_id):
            # Read again rather than kept: a scan comes by its parts in any order, far apart.
            shares = self.list_shares(packet.packet_id)
        yield PacketFacts(packet, shares, escrows_fen.get(escrow_account(packet.packet_id), 0))

    def _won(self, packet_id: str, user_id: str) -> Iterator[Taker]:
        """Yield a user's rows of a prize's packet, where one may have several."""
        key = keys.taker(packet_id, user_id)
        rows = self._dynamo.query(
            self._table,
            KeyConditionExpression="pk = :pk AND begins_with(sk, :taker)",
            ExpressionAttributeValues=values(pk=key["pk"], taker=key["sk"]),
            ConsistentRead=True,
        )
        return (items.taker_of(row) for row in rows)

    @property
    def _counts_table(self) -> str:
        if self._quotas is None:
            raise InvariantViolated("these packets know no quotas")
        return self._quotas

    def _count_claim(self, quota: Quota, user_id: str) -> Operation:
        return update(
            self._counts_table,
            keys.claim_count(quota.campaign_id, user_id),
            "ADD claim_count :one",
            condition=IS_WITHIN_QUOTA,
            one=1,
            count_max=quota.count_max,
        )

    def _work(self, kind: str, until_ms: int, limit: int) -> list[dict[str, Any]]:
        """Return the oldest rows of a work list, a fair share from each shard."""
        rows: list[dict[str, Any]] = []
        for shard in self._work_shards:
            rows += self._dynamo.query_some(
                self._table,
                limit // len(self._work_shards),
                IndexName="by_work",
                KeyConditionExpression="work_pk = :work AND work_at_ms <= :until_ms",
                ExpressionAttributeValues=values(work=keys.work(kind, shard), until_ms=until_ms),
            )
        return rows

    def _list(self, list_pk: str, year: int | None) -> Iterator[dict[str, Any]]:
        condition = "list_pk = :list"
        named: dict[str, str] = {"list": list_pk}
        if year is not None:
            condition += " AND list_sk BETWEEN :first AND :last"
            named["first"] = keys.list_position(_year_start_ms(year), "")
            named["last"] = keys.list_position(_year_start_ms(year + 1), "")
        yield from self._dynamo.query(
            self._table,
            IndexName="by_list",
            KeyConditionExpression=condition,
            ExpressionAttributeValues=values(**named),
            ScanIndexForward=False,
        )


def _year_start_ms(year: int) -> int:
    return int(datetime(year, 1, 1, tzinfo=UTC).timestamp() * 1000)


def _list_item(row: dict[str, Any], amount: str) -> ListItem:
    return ListItem(
        packet_id=row["packet_id"],
        amount_fen=row[amount],
        at_ms=int(row["list_sk"].partition("#")[0]),
        is_luckiest=row.get("is_luckiest", False),
        won_no=keys.won_no(row["sk"]),
    )
