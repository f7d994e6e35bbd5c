"""Repository of packets in PacketsTable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from redpacket.ledger.dynamodb import keys as ledger_keys
from redpacket.ledger.model import year_window
from redpacket.packets.dynamodb import items, keys
from redpacket.packets.dynamodb.shares import DynamoShares
from redpacket.packets.model.packet import Packet, PacketEnd, PacketStatus
from redpacket.packets.model.seed_keys import SeedKeys
from redpacket.packets.ports import SENT_CURSOR, SentItem
from redpacket.platform.dynamodb.client import Dynamo, Operation, Value, put, update, values
from redpacket.platform.dynamodb.lists import NewestFirst
from redpacket.platform.process_cache import ProcessCache, no_clock

if TYPE_CHECKING:
    from redpacket.operations.model.operators import Action

IS_DUE = (
    # An unpaid packet has no money to refund. A closed or canceled packet has ended.
    "expires_at_ms <= :now_ms AND #status = :open"
    " OR expires_at_ms <= :now_ms AND #status = :closing"
)
IS_OPEN = "#status = :open"
IS_CLOSING = "#status = :closing"
# Prize packets always have end_version. Others get it when an edit moves them (windows.py).
IS_OPEN_AND_NO_NEWER = f"{IS_OPEN} AND end_version <= :version"
ENDS_EARLIER = "expires_at_ms < :at_ms"
IS_UNLOADED = "is_loaded = :no"

_KNOWN_MAX = 1_000
"""Maximum packets that a process caches for their immutable attributes."""


class DynamoPackets(DynamoShares):
    """Repository of packets and of their shares."""

    def __init__(self, dynamo: Dynamo, seeds: SeedKeys | None = None) -> None:
        super().__init__(dynamo)
        self._packets = dynamo.tables.packets
        self._seeds = seeds
        self._known: ProcessCache[str, Packet] = ProcessCache(no_clock, size_max=_KNOWN_MAX)

    def find_packet(self, packet_id: str) -> Packet | None:
        row = self._dynamo.get(self._packets, keys.packet(packet_id))
        return items.packet_of(row, self._seeds) if row else None

    def find_packet_of_payment(self, number: str) -> Packet | None:
        row = self._dynamo.get(self._packets, keys.paid_packet(number))
        return self.find_packet(str(row["packet_id"])) if row else None

    def find_known(self, packet_id: str) -> Packet | None:
        """Return a packet, possibly cached; callers may read only immutable attributes."""
        packet = self._known.find(packet_id)
        if packet is None and (row := self._dynamo.get(self._packets, keys.packet(packet_id))):
            # Don't open the sealed seed, because callers read only the rules.
            packet = items.packet_of(row)
            self._known.keep(packet_id, packet)
        return packet

    def list_packets(self, packet_ids: Sequence[str]) -> list[Packet]:
        row_keys = [keys.packet(packet_id) for packet_id in dict.fromkeys(packet_ids)]
        rows = self._dynamo.get_many(self._packets, row_keys, is_strong=True)
        return [items.packet_of(row, self._seeds) for row in rows]

    def mark_loaded(self, packet: Packet) -> None:
        self._dynamo.update(
            self._packets,
            keys.packet(packet.packet_id),
            # Take the end from the row, because an edit may have moved it after the read.
            "SET is_loaded = :yes, work_pk = :due, work_at_ms = expires_at_ms",
            condition=IS_UNLOADED,
            yes=True,
            no=False,
            due=items.due_list(packet),
        )

    def begin_close(self, packet: Packet, now_ms: int) -> Packet:
        """Set an expired packet to CLOSING, and move it to its list's end, unless it is CLOSED."""
        row = self._dynamo.change(self._closing(packet, now_ms, IS_DUE))
        closing = items.packet_of(row, self._seeds) if row else self.find_packet(packet.packet_id)
        if closing is None:
            raise LookupError(f"packet {packet.packet_id} vanished")
        return closing

    def end(self, packet: Packet, now_ms: int, action: Action | None = None) -> bool:
        """Set an open packet to CLOSING before its end, and log *action* if an operator ends it."""
        # Import lazily: GrabFunction loads this module, and only operators' actions are logged.
        from redpacket.operations.dynamodb.audit_log import note_action

        closing = self._closing(
            packet,
            now_ms,
            IS_OPEN,
            # The early end becomes the sender's limit. A packet that is overdue keeps its end.
            ", sent_ends_at_ms = expires_at_ms, asked_ends_at_ms = :now_ms,"
            " expires_at_ms = :ends_at_ms",
            ends_at_ms=min(now_ms, packet.expires_at_ms),
        )
        noted = note_action(self._dynamo.tables.journal, action)
        return self._dynamo.try_transact([closing, *noted])

    def _closing(
        self, packet: Packet, now_ms: int, condition: str, more: str = "", **named: Value
    ) -> Operation:
        return update(
            self._packets,
            keys.packet(packet.packet_id),
            f"SET #status = :closing, is_loaded = :yes, work_pk = :due, work_at_ms = :now_ms{more}",
            condition=condition,
            closing=PacketStatus.CLOSING,
            open=PacketStatus.OPEN,
            yes=True,
            due=items.due_list(packet),
            now_ms=now_ms,
            **named,
        )

    def put_shard_end(self, packet_id: str, shard: int, end: PacketEnd) -> None:
        row = {**keys.shard_end(packet_id, shard), **items.end_row(end)}
        # A shard's final sums never change, so writing them again has no effect.
        self._dynamo.write(put(self._packets, row))

    def list_shard_ends(self, packet_id: str) -> list[PacketEnd]:
        rows = self._dynamo.query(
            self._packets,
            KeyConditionExpression="pk = :pk AND begins_with(sk, :end)",
            ExpressionAttributeValues=values(
                pk=keys.packet(packet_id)["pk"], end=keys.SHARD_END_PREFIX
            ),
            ConsistentRead=True,
        )
        return [items.end_of(row) for row in rows]

    def mark_step(self, packet: Packet) -> None:
        """Store the progress of a CLOSING packet."""
        self._dynamo.update(
            self._packets,
            keys.packet(packet.packet_id),
            "SET closing_step = :step, closing_no = :share_no",
            # A closed packet must not get a new step, because no sweep would finish the step.
            condition=IS_CLOSING,
            step=packet.closing_step,
            share_no=packet.closing_no,
            closing=PacketStatus.CLOSING,
        )

    def reschedule(
        self, packet_id: str, expires_at_ms: int, snapshot_version: int, *, only_later: bool = False
    ) -> None:
        operation = last_until(self._packets, packet_id, expires_at_ms, snapshot_version)
        if only_later:
            operation["Update"]["ConditionExpression"] += f" AND {ENDS_EARLIER}"
        self._dynamo.write(operation)

    def list_sent(
        self, user_id: str, year: int | None, cursor: str | None, limit: int
    ) -> tuple[list[SentItem], str | None]:
        first, last = (ledger_keys.list_position(at_ms, "") for at_ms in year_window(year))
        lists = NewestFirst(self._dynamo, self._packets, SENT_CURSOR)
        page, more = lists.page(keys.sent_list(user_id), cursor, limit, (first, last))
        return [_sent_item(row) for row in page], more


def last_until(table: str, packet_id: str, ends_at_ms: int, snapshot_version: int) -> Operation:
    """Return the update of an open prize packet's end; the newest *snapshot_version* wins."""
    return update(
        table,
        keys.packet(packet_id),
        # A prize packet is in the work list only for its end.
        "SET expires_at_ms = :at_ms, work_at_ms = :at_ms, end_version = :version",
        condition=IS_OPEN_AND_NO_NEWER,
        at_ms=ends_at_ms,
        open=PacketStatus.OPEN,
        version=snapshot_version,
    )


def _sent_item(row: dict[str, Any]) -> SentItem:
    return SentItem(row["packet_id"], row["total_fen"], int(row["list_sk"].partition("#")[0]))
