"""Mapper for rows of AccountsTable, and reader of entries, received shares and receipts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from redpacket.ledger.dynamodb import keys
from redpacket.ledger.model import Entry, Receipt, TransferKind, YearSums, packet_of, year_window
from redpacket.ledger.ports import ENTRY_CURSOR, ReceivedItem
from redpacket.platform.dynamodb.client import Dynamo, Row, Value, values
from redpacket.platform.errors import invalid_cursor

_YEAR_SUMS = ("sent_fen", "sent_count", "received_fen", "received_count", "luckiest_count")
"""Fields of `YearSums`, and prefixes of yearly sums in a balance row, as in `sent_fen_2025`."""

# Validate cursors, because DynamoDB rejects long keys and inverted ranges.
_ENTRY_CURSOR = re.compile(ENTRY_CURSOR)
_LANES = (keys.ENTRY_PREFIX, keys.CLAIM_PREFIX)


class BookPages:
    """Reader of entries, received shares and receipts."""

    def __init__(self, dynamo: Dynamo) -> None:
        self._dynamo = dynamo
        self._table = dynamo.tables.accounts

    def list_entries(
        self, account: str, cursor: str | None, limit: int
    ) -> tuple[list[Entry], str | None]:
        """Return a page of an account's entries, newest first, merged from both key ranges."""
        rows = [row for lane in _LANES for row in self._lane(account, lane, cursor, limit + 1)]
        rows.sort(key=_place, reverse=True)
        page = rows[:limit]
        next_cursor = str(page[-1]["sk"]) if len(rows) > limit else None
        return [entry_of(row) for row in page], next_cursor

    def list_received(
        self, account: str, year: int | None, cursor: str | None, limit: int
    ) -> tuple[list[ReceivedItem], str | None]:
        """Return a page of the shares that an account received, newest first."""
        rows = self._lane(account, keys.CLAIM_PREFIX, cursor, limit + 1, year)
        page = rows[:limit]
        next_cursor = str(page[-1]["sk"]) if len(rows) > limit else None
        return [_received(row) for row in page], next_cursor

    def list_postings(self, wanted: Sequence[Entry]) -> list[Entry]:
        """Return the stored entries among the *wanted* entries."""
        row_keys = [_key(entry) for entry in wanted]
        rows = self._dynamo.get_many(self._table, row_keys, is_strong=True)
        return [entry_of(row) for row in rows]

    def list_receipts(self, row_keys: Sequence[Row]) -> list[Receipt]:
        rows = self._dynamo.get_many(self._table, row_keys, is_strong=True)
        return [receipt_of(row) for row in rows]

    def _lane(
        self, account: str, lane: str, cursor: str | None, limit: int, year: int | None = None
    ) -> list[dict[str, Value]]:
        first, last = (f"{lane}{at_ms:013d}" for at_ms in year_window(year))
        if cursor is not None:
            matched = _ENTRY_CURSOR.fullmatch(cursor)
            if not matched:
                raise invalid_cursor()
            last = min(last, _after(lane, cursor, int(matched[2])))
        if last < first:
            return []
        rows = self._dynamo.query_some(
            self._table,
            limit + 1,
            KeyConditionExpression="pk = :account AND sk BETWEEN :first AND :last",
            ExpressionAttributeValues=values(account=account, first=first, last=last),
            ConsistentRead=True,
            ScanIndexForward=False,
        )
        return [row for row in rows if row["sk"] != cursor][:limit]


def _after(lane: str, cursor: str, place_ms: int) -> str:
    """Return the key range's upper bound after *cursor*; at equal times, entries precede claims."""
    if cursor.startswith(lane):
        return cursor
    if lane == keys.CLAIM_PREFIX:
        return f"{lane}{place_ms:013d}#~"
    return f"{lane}{place_ms:013d}"


def _place(row: Mapping[str, Value]) -> tuple[str, str]:
    lane, place, rest = str(row["sk"]).split("#", 2)
    return place, f"{lane}#{rest}"


def entry_row(entry: Entry) -> dict[str, Value]:
    """Return the row for one side of a transfer."""
    row: dict[str, Value] = {
        **_key(entry),
        "transfer_id": entry.transfer_id,
        "kind": entry.kind,
        "amount_fen": entry.amount_fen,
        "counterparty": entry.counterparty,
        "at_ms": entry.at_ms,
    }
    if entry.placed_at_ms:
        row["placed_at_ms"] = entry.placed_at_ms
    if entry.commitment:
        row["commitment"] = entry.commitment
    return row


def entry_of(row: dict[str, Any]) -> Entry:
    """Parse an entry's row."""
    return Entry(
        account=row["pk"],
        transfer_id=row["transfer_id"],
        kind=TransferKind(row["kind"]),
        amount_fen=row["amount_fen"],
        counterparty=row["counterparty"],
        at_ms=row["at_ms"],
        placed_at_ms=row.get("placed_at_ms", 0),
        commitment=row.get("commitment", ""),
    )


def receipt_row(receipt: Receipt) -> dict[str, Value]:
    """Return a receipt's row."""
    return {
        **keys.receipt(receipt.packet_id, receipt.share_no),
        "account": receipt.account,
        "amount_fen": receipt.amount_fen,
        "at_ms": receipt.at_ms,
    }


def receipt_of(row: dict[str, Any]) -> Receipt:
    """Parse a receipt's row."""
    packet_id, _, share_no = row["pk"].removeprefix(keys.RECEIPT_PREFIX).rpartition("#")
    return Receipt(packet_id, int(share_no), row["account"], row["amount_fen"], row["at_ms"])


def sums_of(row: Mapping[str, Value], year: int | None) -> YearSums:
    """Return the sums in a balance row for one year, or for all years together."""
    sums = dict.fromkeys(_YEAR_SUMS, 0)
    for name, value in row.items():
        kind, _, of_year = name.rpartition("_")
        if kind in sums and (year is None or of_year == str(year)):
            sums[kind] += int(value)
    return YearSums(**sums)


def _key(entry: Entry) -> dict[str, str]:
    packet_id = packet_of(entry.counterparty)
    if entry.kind is not TransferKind.SETTLE or packet_id is None:
        return keys.entry(entry.account, entry.position_ms, entry.transfer_id)
    share_no = int(entry.transfer_id.rpartition(":")[2])
    return keys.claim_entry(entry.account, entry.position_ms, packet_id, share_no)


def _received(row: dict[str, Any]) -> ReceivedItem:
    _, place, packet_id, share_no = row["sk"].split("#")
    return ReceivedItem(packet_id, int(share_no), row["amount_fen"], int(place))
