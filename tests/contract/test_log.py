"""Rows of the public log and of pending commitments, on each implementation of the tables."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from redpacket.fairness.clients.kms_signer import KmsSigner
from redpacket.fairness.dynamodb import keys as log_keys
from redpacket.fairness.dynamodb.commitments import DynamoCommitments, note_commitment
from redpacket.fairness.dynamodb.log import DynamoLog
from redpacket.fairness.model.ed25519 import has_signed
from redpacket.fairness.model.log import (
    Commitment,
    CommitmentKind,
    LogHead,
    NotedCommitment,
    SignedHead,
    id_hash_of,
)
from redpacket.fairness.model.merkle import EMPTY_ROOT, Node, Peaks
from redpacket.fairness.use_cases.extend_log import BATCH_MAX
from redpacket.platform.dynamodb.client import Dynamo
from testing.builders import NOW_MS
from testing.platform.cloud import Cloud
from testing.platform.fake_tables import TABLE_NAMES
from tests.contract.tables import KINDS, a_client

_numbers = itertools.count(1)
NOTHING = LogHead(0, EMPTY_ROOT.hex())


@pytest.fixture(params=KINDS)
def dynamo(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Dynamo]:
    """Yield tables on which each test has its own log."""
    number = next(_numbers)
    for name in ("LOG_END", "LOG_HEAD"):
        row = getattr(log_keys, name)
        monkeypatch.setattr(log_keys, name, {**row, "pk": f"{row['pk']}{number}"})
    for name in ("log_entries", "log_node"):
        monkeypatch.setattr(log_keys, name, _of_test(getattr(log_keys, name), number))
    with a_client(request.param, request) as client:
        yield Dynamo(lambda: client, TABLE_NAMES)


def _of_test(key: Callable[..., dict[str, str]], number: int) -> Callable[..., dict[str, str]]:
    return lambda *place: {**key(*place), "sk": f"{number}"}


def noted(dynamo: Dynamo, count: int = 1) -> list[Commitment]:
    """Write commitments as sends do."""
    made = [
        Commitment(CommitmentKind.PACKET, id_hash_of(f"id {next(_numbers)}"), "c" * 64, NOW_MS + no)
        for no in range(count)
    ]
    for commitment in made:
        dynamo.transact(note_commitment("commitments", commitment))
    return made


def appended(
    log: DynamoLog, before: LogHead, entries: list[Commitment]
) -> tuple[LogHead, dict[Node, bytes], bool]:
    """Append entries after *before*."""
    whole = nodes_of(log, before.size)
    peaks = Peaks(before.size, whole)
    nodes = {
        node: node_hash
        for commitment in entries
        for node, node_hash in peaks.append(commitment.leaf)
    }
    after = LogHead(peaks.size, peaks.root.hex())
    return after, nodes, log.append(before, after, entries, nodes)


def nodes_of(log: DynamoLog, size: int) -> list[bytes]:
    from redpacket.fairness.model.merkle import nodes_of

    wanted = nodes_of((0, size))
    nodes = log.find_nodes(wanted)
    return [nodes[node] for node in wanted]


def test_a_commitment_waits_until_it_has_its_permanent_place(dynamo: Dynamo) -> None:
    commitments, log = DynamoCommitments(dynamo), DynamoLog(dynamo)
    log = DynamoLog(dynamo)
    commitment, other = noted(dynamo, 2)
    ids = [commitment.id_hash, other.id_hash]

    assert set(ids) <= set(commitments.list_waiting(1_000))
    assert {each.commitment: each.index for each in commitments.find([*ids, ids[0], "0" * 64])} == {
        commitment: None,
        other: None,
    }
    after, _, done = appended(log, NOTHING, [commitment])

    assert done
    assert log.find_end() == (after, 0)
    assert set(ids) <= set(commitments.list_waiting(1_000))
    for _ in range(2):  # once as the appending run does, and once as a later run does
        assert log.place([(ids[0], 0)]) == []
    log.note_placed(replace(after, size=2))
    assert log.find_end() == (after, 0)
    log.note_placed(after)
    assert log.find_end() == (after, 1)
    assert ids[0] not in commitments.list_waiting(1_000)
    assert ids[1] in commitments.list_waiting(1_000)
    assert commitments.find(ids[:1]) == [NotedCommitment(commitment, 0)]
    assert log.find_places(ids) == {ids[0]: 0}
    # Refuse a second place and an unknown commitment, but place the others.
    assert log.place([(ids[0], 1), ("f" * 64, 2), (ids[1], 3)]) == [ids[0], "f" * 64]
    assert log.find_places(ids) == {ids[0]: 0, ids[1]: 3}
    assert not dynamo.try_transact(
        note_commitment("commitments", replace(commitment, commitment="d" * 64))
    )
    assert commitments.find(ids[:1]) == [NotedCommitment(commitment, 0)]


def test_a_commitment_that_is_written_again_keeps_its_place(dynamo: Dynamo) -> None:
    log = DynamoLog(dynamo)
    (commitment,) = noted(dynamo)
    assert log.place([(commitment.id_hash, 0)]) == []
    forged = replace(commitment, commitment="d" * 64)
    (write,) = note_commitment("commitments", forged)
    del write["Put"]["ConditionExpression"], write["Put"]["ReturnValuesOnConditionCheckFailure"]
    dynamo.transact([write])

    assert log.place([(commitment.id_hash, 1)]) == [commitment.id_hash]
    assert log.find_places([commitment.id_hash]) == {commitment.id_hash: 0}


def test_a_full_batch_is_appended_whole_or_not_at_all(dynamo: Dynamo) -> None:
    log = DynamoLog(dynamo)
    first = [
        Commitment(CommitmentKind.PACKET, id_hash_of(f"{no}"), "c" * 64, NOW_MS)
        for no in range(BATCH_MAX - 3)
    ]

    after, nodes, done = appended(log, NOTHING, first)

    assert done
    assert log.find_end()[0] == after
    assert log.list_entries(0, 9_000) == list(enumerate(first))
    assert log.list_entries(5, 2) == [(5, first[5]), (6, first[6])]
    assert log.find_nodes([*nodes, *nodes, (30, 0)]) == nodes
    leaves = log.find_nodes([(0, 3), (0, BATCH_MAX)])
    assert leaves == {(0, 3): first[3].leaf}

    late = first[:7]
    for before in (NOTHING, replace(after, root="0" * 64), replace(after, size=after.size + 1)):
        forged = replace(after, size=before.size + 7)
        assert not log.append(before, forged, late, {})
    assert log.find_end()[0] == after
    assert log.list_entries(BATCH_MAX, 10) == []
    # The first entries of an append fill the last row.
    longer, _, done = appended(log, after, late)
    assert done
    assert log.find_end() == (longer, after.size)
    assert log.list_entries(0, 9_000) == list(enumerate([*first, *late]))


def test_a_tree_head_replaces_the_one_that_was_read(dynamo: Dynamo) -> None:
    log = DynamoLog(dynamo)
    first = SignedHead(NOTHING, b"\1" * 64, b"\2" * 32)
    second = replace(first, head=LogHead(3, "a" * 64))

    assert log.find_signed() is None
    assert not log.publish(second, first)
    assert log.publish(first, None)
    assert not log.publish(second, None)
    for other in (replace(NOTHING, size=1), replace(NOTHING, root="")):
        assert not log.publish(second, replace(first, head=other))
    assert log.publish(second, first)
    assert not log.publish(first, first)
    assert log.find_signed() == second


@pytest.mark.emulated
def test_the_verifier_accepts_signatures_of_the_key_service(cloud: Cloud) -> None:
    client = cloud.aws("kms")
    made = client.create_key(KeySpec="ECC_NIST_EDWARDS25519", KeyUsage="SIGN_VERIFY")["KeyMetadata"]
    signer = KmsSigner(lambda: client, made["KeyId"])

    signature, key = signer.sign(b"message"), signer.public_key()

    assert has_signed(key, b"message", signature)
    assert not has_signed(key, b"another", signature)
    assert signer.public_key() == key
