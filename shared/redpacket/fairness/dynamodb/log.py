"""Public log in LogTable: rows of entries, places (index by id), nodes, end, and signed head.

An append rewrites the last row of entries until the row is full. Nodes below a full row are not
stored, but computed from the entries.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import itemgetter

from redpacket.fairness.dynamodb import keys as log_keys
from redpacket.fairness.dynamodb.commitments import place_commitment
from redpacket.fairness.model.log import Commitment, CommitmentKind, LogHead, SignedHead
from redpacket.fairness.model.merkle import EMPTY_ROOT, Node, root_of
from redpacket.platform.dynamodb.client import Dynamo, Operation, Row, Value, put

ENDS_THERE = "log_size = :size AND root = :root"
IS_NEW = "attribute_not_exists(pk)"
IS_ITS_PLACE = "attribute_not_exists(pk) OR log_index = :index"

NOTHING = LogHead(0, EMPTY_ROOT.hex())


class DynamoLog:
    """Repository of the log, whose entries and nodes never change.

    Only the function that appends may write.
    """

    def __init__(self, dynamo: Dynamo) -> None:
        self._dynamo = dynamo
        self._table = dynamo.tables.log
        self._commitments = dynamo.tables.commitments

    def find_end(self) -> tuple[LogHead, int]:
        """Return the current head (size 0 if empty), and how many entries have stored places."""
        row = self._dynamo.get(self._table, log_keys.LOG_END)
        return (_head_of(row), int(row["placed_size"])) if row else (NOTHING, 0)

    def find_signed(self) -> SignedHead | None:
        row = self._dynamo.get(self._table, log_keys.LOG_HEAD)
        if row is None:
            return None
        signature, public_key = (
            bytes.fromhex(str(row[name])) for name in ("signature", "public_key")
        )
        return SignedHead(_head_of(row), signature, public_key)

    def append(
        self,
        before: LogHead,
        after: LogHead,
        entries: Sequence[Commitment],
        nodes: Mapping[Node, bytes],
    ) -> bool:
        """Append entries and completed nodes in one transaction.

        All earlier entries must have places. Return False if the log no longer ends at *before*.
        """
        rows = self._rows_of(before.size, entries)
        writes = [
            _end(self._table, before, after, before.size),
            *(
                put(self._table, row, condition=IS_NEW if is_new else "attribute_exists(pk)")
                for row, is_new in rows
            ),
        ]
        writes += [
            put(self._table, {**log_keys.log_node(*node), "hash": node_hash.hex()})
            for node, node_hash in nodes.items()
            if _has_row(node)
        ]
        return self._dynamo.try_transact(writes)

    def _rows_of(self, size: int, entries: Sequence[Commitment]) -> Iterator[tuple[Row, bool]]:
        """Yield the rows that change, each with a flag that says whether the row is new."""
        per_row = log_keys.LOG_ENTRIES_PER_ROW
        remainder = size % per_row
        listed = [*(self.list_entries(size - remainder, remainder) if remainder else ())]
        listed += enumerate(entries, start=size)
        for start in range(0, len(listed), per_row):
            texts = ";".join(
                f"{index},{each.kind},{each.id_hash},{each.commitment},{each.at_ms}"
                for index, each in listed[start : start + per_row]
            )
            row_no = size // per_row + start // per_row
            yield {**log_keys.log_entries(row_no), "entries": texts}, start > 0 or not remainder

    def place(self, places: Sequence[tuple[str, int]]) -> list[str]:
        """Store the index (place) of each id's entry, for at most PLACES_MAX ids.

        Return the ids that have a different stored index or no commitment. Calls may be repeated.
        """
        writes = [self._place(id_hash, index) for id_hash, index in places]
        if self._dynamo.try_transact([*chain(*writes)]):
            return []
        done = [[self._dynamo.write(write) for write in pair] for pair in writes]
        return [id_hash for (id_hash, _), pair in zip(places, done, strict=True) if not all(pair)]

    def _place(self, id_hash: str, index: int) -> tuple[Operation, Operation]:
        row: Row = {**log_keys.log_place(id_hash), "log_index": index}
        return (
            put(self._table, row, condition=IS_ITS_PLACE, index=index),
            place_commitment(self._commitments, id_hash, index),
        )

    def note_placed(self, end: LogHead) -> None:
        """Record that all entries have places, unless the log has grown since *end*."""
        self._dynamo.write(_end(self._table, end, end, end.size))

    def publish(self, head: SignedHead, before: SignedHead | None) -> bool:
        """Replace the published head *before*; return False if another head was published."""
        row = {
            **log_keys.LOG_HEAD,
            **_head_row(head.head),
            "signature": head.signature.hex(),
            "public_key": head.public_key.hex(),
        }
        return self._dynamo.write(_over(self._table, row, before.head if before else None))

    def list_entries(self, first: int, limit: int) -> list[tuple[int, Commitment]]:
        per_row = log_keys.LOG_ENTRIES_PER_ROW
        rows = self._find_rows(range(first // per_row, (first + limit - 1) // per_row + 1))
        return sorted(
            (place for row in rows for place in row if first <= place[0] < first + limit),
            key=itemgetter(0),
        )

    def _find_rows(self, row_nos: Iterable[int]) -> list[list[tuple[int, Commitment]]]:
        rows = self._get([log_keys.log_entries(row_no) for row_no in row_nos])
        return [[*_entries_of(str(row["entries"]))] for row in rows]

    def _get(self, row_keys: Sequence[Row]) -> list[dict[str, Value]]:
        return self._dynamo.get_many(self._table, row_keys, is_strong=True)

    def find_places(self, id_hashes: Sequence[str]) -> dict[str, int]:
        """Return the index of each id's only entry, by id; omit ids without an entry."""
        rows = self._get([log_keys.log_place(id_hash) for id_hash in id_hashes])
        return {str(row["pk"]).removeprefix("id#"): int(row["log_index"]) for row in rows}

    def find_nodes(self, nodes: Sequence[Node]) -> dict[Node, bytes]:
        """Return the hashes of existing nodes. Nodes below a full row are computed from entries."""
        high = [log_keys.log_node(*node) for node in dict.fromkeys(nodes) if _has_row(node)]
        hashes = {_node_of(row): bytes.fromhex(str(row["hash"])) for row in self._get(high)}
        low = [node for node in dict.fromkeys(nodes) if not _has_row(node)]
        row_nos = dict.fromkeys(number >> (_row_level() - level) for level, number in low)
        leaves = {index: entry.leaf for row in self._find_rows(row_nos) for index, entry in row}
        for level, number in low:
            indexes = range(number << level, (number + 1) << level)
            if all(index in leaves for index in indexes):
                hashes[level, number] = root_of(leaves[index] for index in indexes)
        return hashes


def _has_row(node: Node) -> bool:
    return node[0] >= _row_level()


def _node_of(row: Row) -> Node:
    _, level, number = str(row["pk"]).split("#")
    return int(level), int(number)


def _row_level() -> int:
    """Return the level of the node over a full row of entries."""
    return log_keys.LOG_ENTRIES_PER_ROW.bit_length() - 1


def _end(table: str, before: LogHead, after: LogHead, placed_size: int) -> Operation:
    """Return the write that moves the log's end."""
    row = {**log_keys.LOG_END, **_head_row(after), "placed_size": placed_size}
    return _over(table, row, before if before.size else None)


def _over(table: str, row: Row, before: LogHead | None) -> Operation:
    """Return a write that requires a stored row with *before*, or no row if *before* is None."""
    if before is None:
        return put(table, row, condition=IS_NEW)
    return put(table, row, condition=ENDS_THERE, size=before.size, root=before.root)


def _head_row(head: LogHead) -> dict[str, Value]:
    return {"log_size": head.size, "root": head.root}


def _head_of(row: Row) -> LogHead:
    return LogHead(int(row["log_size"]), str(row["root"]))


def _entries_of(texts: str) -> Iterator[tuple[int, Commitment]]:
    """Yield the entries of a row with their indexes; skip malformed entries."""
    for text in texts.split(";"):
        try:
            index, kind, id_hash, commitment, at_ms = text.split(",")
            yield int(index), Commitment(CommitmentKind(kind), id_hash, commitment, int(at_ms))
        except ValueError:
            continue
