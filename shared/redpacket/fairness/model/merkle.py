"""Merkle trees as in RFC 6962: roots and proofs.

A node is a complete subtree (level, number) over the 2^level leaves from number * 2^level. A node
never changes, so it can be stored for later roots and proofs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

Node: TypeAlias = tuple[int, int]
Range: TypeAlias = tuple[int, int]
"""Range of leaves: the first index, and the index after the last."""

EMPTY_ROOT = hashlib.sha256().digest()


def leaf_hash(data: bytes) -> bytes:
    """Return the hash of a leaf. The prefix byte distinguishes leaves from nodes."""
    return hashlib.sha256(b"\0" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Return the hash of two adjacent subtrees."""
    return hashlib.sha256(b"\1" + left + right).digest()


def nodes_of(leaves: Range) -> list[Node]:
    """Return the largest complete subtrees that a range consists of, from the left."""
    first, last = leaves
    nodes = []
    while first < last:
        level = (last - first).bit_length() - 1
        if first:
            level = min(level, (first & -first).bit_length() - 1)
        nodes.append((level, first >> level))
        first += 1 << level
    return nodes


def fold(hashes: Sequence[bytes]) -> bytes:
    """Return the root over complete subtrees whose sizes decrease to the right."""
    if not hashes:
        return EMPTY_ROOT
    *others, root = hashes
    for left in reversed(others):
        root = node_hash(left, root)
    return root


def hash_of(leaves: Range, hashes: Mapping[Node, bytes]) -> bytes:
    """Return the root over a range of leaves; *hashes* must contain the range's nodes."""
    return fold([hashes[node] for node in nodes_of(leaves)])


@dataclass(slots=True)
class Peaks:
    """Tree represented by its largest complete subtrees, which suffice for the root and appends."""

    size: int = 0
    hashes: list[bytes] = field(default_factory=list)

    @property
    def root(self) -> bytes:
        """The hash over all leaves."""
        return fold(self.hashes)

    def append(self, leaf: bytes) -> list[tuple[Node, bytes]]:
        """Append a leaf's hash; return the nodes above leaf level that the append completes."""
        made = []
        level, number, top = 0, self.size, leaf
        while number & 1:
            top = node_hash(self.hashes.pop(), top)
            level, number = level + 1, number >> 1
            made.append(((level, number), top))
        self.hashes.append(top)
        self.size += 1
        return made


def _split(first: int, last: int) -> int:
    """Return the start of the right half of a range; the left half is complete."""
    return first + (1 << ((last - first - 1).bit_length() - 1))


def inclusion_ranges(index: int, size: int) -> list[Range]:
    """Return the ranges whose hashes prove that a leaf is in a tree, from its sibling upward."""
    first, last = 0, size
    path: list[Range] = []
    while last - first > 1:
        middle = _split(first, last)
        if index < middle:
            path.append((middle, last))
            last = middle
        else:
            path.append((first, middle))
            first = middle
    return path[::-1]


def consistency_ranges(old: int, new: int) -> list[Range]:
    """Return the ranges whose hashes prove that a tree of *new* leaves extends one of *old* leaves.

    The list is empty if the old tree is empty or unchanged, because no proof is then necessary.
    """
    if old in (0, new):
        return []
    first, last = 0, new
    path: list[Range] = []
    while last != old:
        middle = _split(first, last)
        if old <= middle:
            path.append((middle, last))
            last = middle
        else:
            path.append((first, middle))
            first = middle
    if first:
        path.append((first, last))
    return path[::-1]


def is_included(leaf: bytes, index: int, size: int, path: Sequence[bytes], root: bytes) -> bool:
    """Return whether *path* proves that *leaf* is at *index* in the tree."""
    if not 0 <= index < size or len(path) != len(ranges := inclusion_ranges(index, size)):
        return False
    top = leaf
    for (first, _), sibling in zip(ranges, path, strict=True):
        top = node_hash(top, sibling) if first > index else node_hash(sibling, top)
    return top == root


def is_consistent(
    old: int, new: int, path: Sequence[bytes], old_root: bytes, new_root: bytes
) -> bool:
    """Return whether *path* proves that the new tree extends the old one."""
    if not 0 <= old <= new or (old == 0 and old_root != EMPTY_ROOT):
        return False
    ranges = consistency_ranges(old, new)
    if len(path) != len(ranges) or not ranges:
        return not path and not ranges and (old_root == new_root or 0 == old < new)
    # If the old tree is complete, it is a node of the new tree, with the hash *old_root*.
    is_node = ranges[0][1] != old
    old_top = new_top = old_root if is_node else path[0]
    for (first, _), sibling in list(zip(ranges, path, strict=True))[not is_node :]:
        if first >= old:
            new_top = node_hash(new_top, sibling)
        else:
            old_top, new_top = node_hash(sibling, old_top), node_hash(sibling, new_top)
    return (old_top, new_top) == (old_root, new_root)


def root_of(leaves: Iterable[bytes]) -> bytes:
    """Return the root over the hashes of leaves."""
    peaks = Peaks()
    for leaf in leaves:
        peaks.append(leaf)
    return peaks.root
