"""Repository of edited campaign windows, which also moves the campaign's packets."""

from __future__ import annotations

from dataclasses import replace

from redpacket.ledger.dynamodb import keys as ledger_keys
from redpacket.packets.dynamodb import items, keys
from redpacket.packets.model.edited_window import EditedWindow
from redpacket.packets.model.packet import PacketStatus, Rules
from redpacket.platform.dynamodb.client import Dynamo, Operation, Value, update

IS_NEWEST = "version = :version"
_IS_MOVABLE = "#status = :open AND is_loaded = :is_loaded"
CAN_MOVE = (
    # A packet has no end_version until an edit moves it.
    f"{_IS_MOVABLE} AND attribute_not_exists(end_version)"
    f" OR {_IS_MOVABLE} AND end_version <= :version"
)


class DynamoWindows:
    """Repository of each campaign's newest edited window; only sweeps use it."""

    def __init__(self, dynamo: Dynamo) -> None:
        self._dynamo = dynamo
        self._packets = dynamo.tables.packets

    def find(self, campaign_id: str) -> EditedWindow | None:
        """Return a campaign's newest edited window, or None if no edit moved the window."""
        row = self._dynamo.get(self._packets, keys.edited_window(campaign_id))
        if row is None:
            return None
        return EditedWindow(
            campaign_id,
            int(row["version"]),
            int(row["starts_at_ms"]),
            int(row["ends_at_ms"]),
            str(row["moved_id"]),
            int(row.get("old_ends_at_ms", 0)),  # Rows of earlier releases lack this.
        )

    def move(self, packet_id: str, window: EditedWindow) -> bool:
        """Set a packet's start and end; return False if it has ended or followed a newer edit."""
        row = self._dynamo.get(self._packets, keys.packet(packet_id))
        if row is None:
            return False
        packet = items.packet_of(row)
        rules, ends_at_ms = packet.rules, packet.expires_at_ms
        if "asked_ends_at_ms" not in row and ends_at_ms < window.old_ends_at_ms:
            # In a row from an earlier release, an end before the campaign's is the sender's choice.
            rules = replace(rules, ends_at_ms=ends_at_ms)
        # An unloaded packet stays in the load list. Try both, because it may just have been loaded.
        return any(
            self._dynamo.write(self._moved(packet_id, rules, window, is_loaded=is_loaded))
            for is_loaded in (False, True)
        )

    def checkpoint(self, window: EditedWindow, moved_id: str) -> None:
        """Record that the packets up to *moved_id* were processed, unless there is a newer edit."""
        self._write(window, "SET moved_id = :moved_id", moved_id=moved_id)

    def finish(self, window: EditedWindow) -> None:
        """Remove a window from the sweep's list, unless there is a newer edit."""
        self._write(window, "REMOVE work_pk, work_at_ms")

    def _write(self, window: EditedWindow, expression: str, **named: Value) -> None:
        key, version = keys.edited_window(window.campaign_id), window.version
        # A newer edit moves all packets again, starting with the first.
        self._dynamo.update(
            self._packets, key, expression, condition=IS_NEWEST, version=version, **named
        )

    def _moved(
        self, packet_id: str, rules: Rules, window: EditedWindow, *, is_loaded: bool
    ) -> Operation:
        starts_at_ms, ends_at_ms = rules.window_in(window.starts_at_ms, window.ends_at_ms)
        names = (
            "starts_at_ms = :starts_at_ms, expires_at_ms = :at_ms, end_version = :version,"
            " asked_ends_at_ms = :own_ms"
        )
        return update(
            self._packets,
            keys.packet(packet_id),
            f"SET {names}, work_at_ms = :at_ms" if is_loaded else f"SET {names}",
            condition=CAN_MOVE,
            starts_at_ms=starts_at_ms,
            at_ms=ends_at_ms,
            version=window.version,
            own_ms=rules.ends_at_ms,
            open=PacketStatus.OPEN,
            is_loaded=is_loaded,
        )


def edited(table: str, window: EditedWindow, at_ms: int) -> Operation:
    """Return the write that makes the sweep move the packets of an edited campaign."""
    return update(
        table,
        keys.edited_window(window.campaign_id),
        "SET version = :version, starts_at_ms = :starts_at_ms, ends_at_ms = :ends_at_ms,"
        " moved_id = :moved_id, work_pk = :work, work_at_ms = :at_ms,"
        " old_ends_at_ms = if_not_exists(old_ends_at_ms, :old_ends_at_ms)",
        version=window.version,
        starts_at_ms=window.starts_at_ms,
        ends_at_ms=window.ends_at_ms,
        moved_id=window.moved_id,
        work=ledger_keys.work("edited", ledger_keys.work_shard(window.campaign_id)),
        at_ms=at_ms,
        old_ends_at_ms=window.old_ends_at_ms,
    )
