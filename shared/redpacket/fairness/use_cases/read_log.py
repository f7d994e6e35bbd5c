"""Public reads of the log: its entries and the proofs of its signed head."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from redpacket.fairness.log_ports import LogBook
from redpacket.fairness.model.log import Commitment, SignedHead
from redpacket.fairness.model.merkle import (
    Range,
    consistency_ranges,
    hash_of,
    inclusion_ranges,
    nodes_of,
)
from redpacket.platform.errors import InvalidRequest, InvariantViolated, Unavailable


@dataclass(frozen=True, slots=True)
class LogPage:
    """Entries in order, each with its index; *next_index* starts the next page."""

    signed: SignedHead
    entries: Sequence[tuple[int, Commitment]]
    next_index: int | None


@dataclass(frozen=True, slots=True)
class InclusionProof:
    """Proof that an entry is in the log of *size* entries."""

    index: int
    entry: Commitment
    size: int
    path: Sequence[bytes]


def read_entries(first: int, limit: int, *, book: LogBook) -> LogPage:
    """Return at most *limit* entries of the signed head from *first* on. Raises Unavailable."""
    signed = _signed(book)
    size = signed.head.size
    if first >= size:
        return LogPage(signed, [], None)
    shown = book.list_entries(first, min(limit, size - first))
    end = first + len(shown)
    if [index for index, _ in shown] != list(range(first, end)) or not shown:
        raise InvariantViolated(f"an entry of the log from {first} on is missing")
    return LogPage(signed, shown, end if end < size else None)


def prove_inclusion(id_hash: str, size: int | None, *, book: LogBook) -> InclusionProof | None:
    """Prove that an id's only entry is in the log of *size*, by default the signed one.

    Return None if it is not. Raises InvalidRequest, Unavailable.
    """
    size = _size("size", size, book)
    index = book.find_places([id_hash]).get(id_hash)
    if index is None or index >= size:
        return None
    entries = book.list_entries(index, 1)
    if not entries or entries[0][0] != index or entries[0][1].id_hash != id_hash:
        raise InvariantViolated(f"entry {index} of the log is missing, or another one")
    return InclusionProof(index, entries[0][1], size, _hashes(inclusion_ranges(index, size), book))


def prove_consistency(old: int, new: int | None, *, book: LogBook) -> tuple[int, Sequence[bytes]]:
    """Return *new* and a proof that its log extends *old*. Raises InvalidRequest, Unavailable."""
    new = _size("to", new, book)
    if old > new:
        raise InvalidRequest([{"field": "from", "message": f"is above the log's size of {new}"}])
    return new, _hashes(consistency_ranges(old, new), book)


def _signed(book: LogBook) -> SignedHead:
    signed = book.find_signed()
    if signed is None:
        raise Unavailable("no head of the log is signed yet")
    return signed


def _size(field: str, given: int | None, book: LogBook) -> int:
    signed_size = _signed(book).head.size
    if given is not None and given > signed_size:
        message = f"is above the log's size of {signed_size}"
        raise InvalidRequest([{"field": field, "message": message}])
    return signed_size if given is None else given


def _hashes(ranges: Sequence[Range], book: LogBook) -> list[bytes]:
    nodes = book.find_nodes([node for leaves in ranges for node in nodes_of(leaves)])
    try:
        return [hash_of(leaves, nodes) for leaves in ranges]
    except KeyError as error:
        raise InvariantViolated(f"node {error} of the log is missing") from error
