"""Public reads of the log: the signed head, its entries and tiles, and proofs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from redpacket.fairness.model.log import Commitment, SignedHead
from redpacket.fairness.model.merkle import (
    Node,
    Range,
    consistency_ranges,
    hash_of,
    inclusion_ranges,
    nodes_of,
)
from redpacket.fairness.model.tiles import tile_of
from redpacket.platform.errors import InvalidRequest, InvariantViolated, Unavailable

if TYPE_CHECKING:
    from redpacket.fairness.dynamodb.log import DynamoLog

Entries: TypeAlias = Sequence[tuple[int, Commitment]]
"""Entries in order, each with its index."""


def read_entries(first: int, limit: int, *, log: DynamoLog) -> tuple[SignedHead, Entries]:
    """Return the signed head and at most *limit* of its entries from *first* on."""
    signed = read_head(log=log)
    end = min(first + limit, signed.head.size)
    return signed, _entries(first, end, log) if first < end else ()


def read_head(*, log: DynamoLog) -> SignedHead:
    """Return the newest signed head. Raises Unavailable before the first head exists."""
    signed = log.find_signed()
    if signed is None:
        raise Unavailable("no head of the log is signed yet")
    return signed


def read_tile(path: str, *, log: DynamoLog) -> bytes | None:
    """Return a tile or bundle of the signed log, or None if the log has none at this path."""
    tile = tile_of(path)
    if tile is None or tile.last >= read_head(log=log).head.size >> tile.level:
        return None
    numbers = range(tile.first, tile.last + 1)
    if tile.is_bundle:
        texts = [str(entry).encode() for _, entry in _entries(tile.first, numbers.stop, log)]
        return b"".join(len(text).to_bytes(2) + text for text in texts)
    nodes = [(tile.level, number) for number in numbers]
    hashes = _nodes(nodes, log)
    return b"".join(hashes[node] for node in nodes)


def _entries(first: int, end: int, log: DynamoLog) -> Entries:
    shown = log.list_entries(first, end - first)
    if [index for index, _ in shown] != list(range(first, end)):
        raise InvariantViolated(f"an entry of the log from {first} on is missing")
    return shown


def prove_inclusion(
    id_hash: str, size: int | None, *, log: DynamoLog
) -> tuple[int, Commitment, int, Sequence[bytes]] | None:
    """Prove that the log with *size* entries, by default the signed log, includes an id's entry.

    Return the index, entry, size and proof, or None if there is no entry. Raises InvalidRequest,
    Unavailable.
    """
    size = _size("size", size, log)
    index = log.find_places([id_hash]).get(id_hash)
    if index is None or index >= size:
        return None
    ((_, entry),) = _entries(index, index + 1, log)
    if entry.id_hash != id_hash:
        raise InvariantViolated(f"entry {index} of the log has another id hash")
    return index, entry, size, _hashes(inclusion_ranges(index, size), log)


def prove_consistency(old: int, new: int | None, *, log: DynamoLog) -> tuple[int, Sequence[bytes]]:
    """Return *new* and a proof that the log of this size extends the log of size *old*.

    Raises InvalidRequest, Unavailable.
    """
    new = _size("to", new, log)
    if old > new:
        raise InvalidRequest.of("from", f"must be at most {new}, the size of the log")
    return new, _hashes(consistency_ranges(old, new), log)


def _size(field: str, given: int | None, log: DynamoLog) -> int:
    signed_size = read_head(log=log).head.size
    if given is not None and given > signed_size:
        message = f"must be at most {signed_size}, the size of the log"
        raise InvalidRequest.of(field, message)
    return signed_size if given is None else given


def _hashes(ranges: Sequence[Range], log: DynamoLog) -> list[bytes]:
    nodes = _nodes([node for leaves in ranges for node in nodes_of(leaves)], log)
    return [hash_of(leaves, nodes) for leaves in ranges]


def _nodes(wanted: Sequence[Node], log: DynamoLog) -> Mapping[Node, bytes]:
    hashes = log.find_nodes(wanted)
    if missing := [node for node in wanted if node not in hashes]:
        raise InvariantViolated(f"node {missing[0]} of the log is missing")
    return hashes
