"""Tree of the log compared with a short reference, and signatures compared with a library."""

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from local.places import ROOT
from redpacket.fairness.dynamodb.keys import LOG_ENTRIES_PER_ROW
from redpacket.fairness.model import merkle
from redpacket.fairness.model.ed25519 import has_signed
from redpacket.fairness.use_cases.extend_log import BATCH_MAX
from testing.fairness.fake_head_signer import FakeSigner

VECTORS: dict[str, Any] = json.loads((ROOT / "tests" / "vectors" / "log.json").read_text())
SIZE_MAX = 70


def reference(leaves: list[bytes]) -> bytes:
    """Return the Merkle tree hash, MTH in section 2.1 of RFC 6962."""
    if not leaves:
        return hashlib.sha256().digest()
    if len(leaves) == 1:
        return hashlib.sha256(b"\0" + leaves[0]).digest()
    k = 1
    while k * 2 < len(leaves):
        k *= 2
    return hashlib.sha256(b"\1" + reference(leaves[:k]) + reference(leaves[k:])).digest()


def audit_path(m: int, leaves: list[bytes]) -> list[bytes]:
    """Return the audit path, PATH in section 2.1.1 of RFC 6962."""
    if len(leaves) == 1:
        return []
    k = 1
    while k * 2 < len(leaves):
        k *= 2
    if m < k:
        return [*audit_path(m, leaves[:k]), reference(leaves[k:])]
    return [*audit_path(m - k, leaves[k:]), reference(leaves[:k])]


def consistency(m: int, leaves: list[bytes], *, is_whole: bool = True) -> list[bytes]:
    """Return the consistency proof, SUBPROOF in section 2.1.2 of RFC 6962."""
    if m == len(leaves):
        return [] if is_whole else [reference(leaves)]
    k = 1
    while k * 2 < len(leaves):
        k *= 2
    if m <= k:
        return [*consistency(m, leaves[:k], is_whole=is_whole), reference(leaves[k:])]
    return [*consistency(m - k, leaves[k:], is_whole=False), reference(leaves[:k])]


class Tree:
    """Tree as the log stores it: only its nodes."""

    def __init__(self, leaves: list[bytes]) -> None:
        self.nodes: dict[merkle.Node, bytes] = {}
        self.peaks = merkle.Peaks()
        for number, leaf in enumerate(leaves):
            self.nodes[0, number] = merkle.leaf_hash(leaf)
            self.nodes.update(self.peaks.append(merkle.leaf_hash(leaf)))

    def inclusion(self, index: int, size: int) -> list[bytes]:
        return [merkle.hash_of(each, self.nodes) for each in merkle.inclusion_ranges(index, size)]

    def consistency(self, old: int, new: int) -> list[bytes]:
        return [merkle.hash_of(each, self.nodes) for each in merkle.consistency_ranges(old, new)]


LEAVES = [f"leaf {number}".encode() for number in range(SIZE_MAX)]
TREE = Tree(LEAVES)
sizes = st.integers(1, SIZE_MAX)


def test_roots_equal_those_of_other_logs() -> None:
    leaves = [bytes.fromhex(each) for each in VECTORS["leaves_hex"]]
    for size in range(9):
        assert merkle.root_of(map(merkle.leaf_hash, leaves[:size])).hex() == VECTORS["roots"][size]
        assert reference(leaves[:size]).hex() == VECTORS["roots"][size]


@given(sizes)
def test_a_tree_that_grew_equals_one_built_at_once(
    size: int,
) -> None:
    tree = Tree(LEAVES[:size])

    assert tree.peaks.root == reference(LEAVES[:size])
    assert merkle.hash_of((0, size), TREE.nodes) == tree.peaks.root
    assert set(tree.nodes) <= set(TREE.nodes)
    assert set(tree.nodes) == {
        (level, number) for level in range(7) for number in range(size >> level)
    }


@given(st.data())
def test_an_inclusion_proof_follows_the_rfc_and_proves_nothing_else(data: st.DataObject) -> None:
    size = data.draw(sizes)
    index = data.draw(st.integers(0, size - 1))
    other = data.draw(st.integers(0, SIZE_MAX - 1))
    path, root = TREE.inclusion(index, size), reference(LEAVES[:size])
    leaf = merkle.leaf_hash(LEAVES[index])

    assert path == audit_path(index, LEAVES[:size])
    assert merkle.is_included(leaf, index, size, path, root)
    if other != index:
        assert not merkle.is_included(merkle.leaf_hash(LEAVES[other]), index, size, path, root)
        assert not merkle.is_included(leaf, other, size, path, root)
    assert not merkle.is_included(leaf, index, size, path[1:], root) or not path
    assert not merkle.is_included(leaf, index, size, [*path, root], root)
    assert not merkle.is_included(leaf, index, size, path, merkle.leaf_hash(b"another root"))
    if path:
        turned = data.draw(st.integers(0, len(path) - 1))
        forged = [bytes(32) if place == turned else each for place, each in enumerate(path)]
        assert not merkle.is_included(leaf, index, size, forged, root)


@given(st.data())
def test_a_consistency_proof_follows_the_rfc_and_proves_nothing_else(
    data: st.DataObject,
) -> None:
    new = data.draw(sizes)
    old = data.draw(st.integers(1, new))
    path = TREE.consistency(old, new)
    roots = reference(LEAVES[:old]), reference(LEAVES[:new])
    rewritten = [b"rewritten", *LEAVES[1:new]]

    assert path == consistency(old, LEAVES[:new])
    assert merkle.is_consistent(old, new, path, *roots)
    assert merkle.is_consistent(0, new, [], reference([]), roots[1])
    assert not merkle.is_consistent(old, new, path, roots[0], reference(rewritten))
    forged = Tree(rewritten).consistency(old, new)
    assert not merkle.is_consistent(old, new, forged, roots[0], reference(rewritten))
    assert not merkle.is_consistent(old, new, [*path, bytes(32)], *roots)
    assert not merkle.is_consistent(new + 1, new, path, *roots)
    if path:
        assert not merkle.is_consistent(old, new, path[:-1], *roots)
        assert not merkle.is_consistent(old, new, [], *roots)


def test_no_leaf_is_accepted_as_a_node() -> None:
    left, right = merkle.leaf_hash(b"a"), merkle.leaf_hash(b"b")

    assert merkle.leaf_hash(left + right) != merkle.node_hash(left, right)


def test_a_proof_reads_few_rows_of_a_large_log() -> None:
    size = 2**31 - 1
    ranges = [
        *merkle.inclusion_ranges(size // 3, size),
        *merkle.consistency_ranges(size // 3, size),
    ]

    assert len([node for each in ranges for node in merkle.nodes_of(each)]) <= 4 * 31


def test_a_batch_fits_into_one_transaction() -> None:
    for size in (0, 1, 7, 2**31 - BATCH_MAX, 2**31 - BATCH_MAX - 1, 2**30 - 5):
        peaks = merkle.Peaks(size, [bytes(32)] * size.bit_count())
        nodes = [node for _ in range(BATCH_MAX) for node in peaks.append(bytes(32))]

        rows = -(-(size % LOG_ENTRIES_PER_ROW + BATCH_MAX) // LOG_ENTRIES_PER_ROW)
        stored = [level for (level, _), _ in nodes if 2**level >= LOG_ENTRIES_PER_ROW]
        # One transaction writes the rows of entries, the stored nodes, and the end of the log.
        assert rows + len(stored) + 1 <= 100


# ---- signatures


@settings(max_examples=20)
@given(st.binary(max_size=100), st.integers(1, 2**200), st.integers(0, 511))
def test_a_library_signature_is_verified_and_any_other_is_refused(
    message: bytes, secret: int, bit: int
) -> None:
    signer = FakeSigner(secret)
    signature, key = signer.sign(message), signer.public_key()
    order = 2**252 + 27742317777372353535851937790883648493
    turned = (int.from_bytes(signature) ^ 1 << bit).to_bytes(64)
    again = (int.from_bytes(signature[32:], "little") + order).to_bytes(32, "little")

    assert has_signed(key, message, signature)
    assert not has_signed(key, message + b"!", signature)
    assert not has_signed(FakeSigner(secret + 1).public_key(), message, signature)
    for forged in (turned, signature[:32] + again, signature[:-1], signature + b"\0", b""):
        assert not has_signed(key, message, forged)


def test_an_invalid_key_is_refused() -> None:
    key = FakeSigner().public_key()

    # Invalid keys: wrong lengths, a point off the curve, a value above the field, zero with a sign.
    wrong = (b"", key[:-1], key + b"\0", bytes([2, *bytes(31)]))
    for other in (*wrong, b"\xff" * 31 + b"\x7f", bytes([1, *bytes(30), 128])):
        with pytest.raises(ValueError, match="Ed25519"):
            has_signed(other, b"message", FakeSigner().sign(b"message"))
