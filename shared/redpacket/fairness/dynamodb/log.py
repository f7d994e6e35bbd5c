"""Public log in LogTable: entries, tree nodes, current size, and signed head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from redpacket.fairness.dynamodb import keys as log_keys
from redpacket.fairness.dynamodb.commitments import place_commitment
from redpacket.fairness.model.log import Commitment, CommitmentKind, LogHead, SignedHead
from redpacket.fairness.model.merkle import EMPTY_ROOT, Node
from redpacket.platform.dynamodb.client import KEYS_PER_READ, Dynamo, Row, Value, put, values

ENDS_THERE = "log_size = :size AND root = :root"
IS_NEW = "attribute_not_exists(pk)"
SHOWS_THAT = "log_size = :size AND root = :root AND at_ms = :at_ms"


class DynamoLog:
    """DynamoDB implementation of LogBook; only the appending function sets *commitments_table*."""

    def __init__(self, dynamo: Dynamo, table: str, commitments_table: str = "") -> None:
        self._dynamo = dynamo
        self._table = table
        self._commitments = commitments_table

    def find_head(self) -> LogHead:
        row = self._dynamo.get(self._table, log_keys.LOG_END)
        return _head_of(row) if row else LogHead(0, EMPTY_ROOT.hex(), 0)

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
        end = {**log_keys.LOG_END, **_head_row(after)}
        writes = [
            put(self._table, end, condition=ENDS_THERE, size=before.size, root=before.root)
            if before.size
            else put(self._table, end, condition=IS_NEW)
        ]
        for index, entry in enumerate(entries, start=before.size):
            writes.append(put(self._table, _entry_row(index, entry)))
            writes.append(
                put(self._table, {**log_keys.log_place(entry.id_hash), "log_index": index})
            )
            writes.append(place_commitment(self._commitments, entry.id_hash, index))
        writes += [
            put(self._table, {**log_keys.log_node(*node), "hash": found.hex()})
            for node, found in nodes.items()
        ]
        return self._dynamo.try_transact(writes)

    def publish(self, head: SignedHead, before: SignedHead | None) -> bool:
        row = {
            **log_keys.LOG_HEAD,
            **_head_row(head.head),
            "signature": head.signature.hex(),
            "public_key": head.public_key.hex(),
        }
        if before is None:
            return self._dynamo.write(put(self._table, row, condition=IS_NEW))
        shown = before.head
        return self._dynamo.write(
            put(
                self._table,
                row,
                condition=SHOWS_THAT,
                size=shown.size,
                root=shown.root,
                at_ms=shown.at_ms,
            )
        )

    def list_entries(self, first: int, limit: int) -> list[tuple[int, Commitment]]:
        begin, partition = log_keys.log_entry(first), log_keys.log_entries(first)
        rows = self._dynamo.query_some(
            self._table,
            limit,
            KeyConditionExpression="pk = :pk AND sk >= :first",
            ExpressionAttributeValues=values(pk=partition, first=begin["sk"]),
            ConsistentRead=True,
        )
        return [(int(str(row["sk"])), _entry_of(row)) for row in rows]

    def find_places(self, id_hashes: Sequence[str]) -> dict[str, int]:
        row_keys = [log_keys.log_place(id_hash) for id_hash in id_hashes]
        rows = self._dynamo.get_many(self._table, row_keys, is_strong=True) if row_keys else []
        return {str(row["pk"]).removeprefix("id#"): int(row["log_index"]) for row in rows}

    def find_nodes(self, nodes: Sequence[Node]) -> dict[Node, bytes]:
        wanted = {_place(_node_key(node)): node for node in nodes}
        row_keys = [_node_key(node) for node in dict.fromkeys(nodes)]
        found: dict[Node, bytes] = {}
        for start in range(0, len(row_keys), KEYS_PER_READ):
            chunk = row_keys[start : start + KEYS_PER_READ]
            for row in self._dynamo.get_many(self._table, chunk, is_strong=True):
                node = wanted[_place(row)]
                found[node] = bytes.fromhex(str(row["hash"])) if node[0] else _entry_of(row).leaf
        return found


def _node_key(node: Node) -> dict[str, str]:
    """Return the key of a node's hash; a leaf's hash is computed from its entry."""
    level, number = node
    return log_keys.log_node(level, number) if level else log_keys.log_entry(number)


def _place(row: Row) -> tuple[Value, Value]:
    return row["pk"], row["sk"]


def _head_row(head: LogHead) -> dict[str, Value]:
    return {"log_size": head.size, "root": head.root, "at_ms": head.at_ms}


def _head_of(row: Row) -> LogHead:
    return LogHead(int(row["log_size"]), str(row["root"]), int(row["at_ms"]))


def _entry_row(index: int, entry: Commitment) -> dict[str, Value]:
    return {
        **log_keys.log_entry(index),
        "kind": entry.kind,
        "id_hash": entry.id_hash,
        "commitment": entry.commitment,
        "at_ms": entry.at_ms,
    }


def _entry_of(row: Row) -> Commitment:
    kind, id_hash = CommitmentKind(str(row["kind"])), str(row["id_hash"])
    return Commitment(kind, id_hash, str(row["commitment"]), int(row["at_ms"]))
