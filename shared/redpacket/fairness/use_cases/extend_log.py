"""Extension of the public log by pending commitments, and signing of its head.

An append fails if the log's end has changed since it was read, so runs may overlap or be
interrupted. Each run stores the places of all earlier entries before it appends, so no id gets two
entries. A head is signed only if it extends the last signed head, so a rewrite of signed entries
is never signed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

from redpacket.fairness.model.log import Commitment, LogHead, SignedHead
from redpacket.fairness.model.merkle import (
    EMPTY_ROOT,
    Node,
    Peaks,
    consistency_ranges,
    hash_of,
    is_consistent,
    nodes_of,
)
from redpacket.platform.errors import InvariantViolated
from redpacket.platform.runtime import Clock, EventLogger, InParallel

if TYPE_CHECKING:
    from redpacket.fairness.dynamodb.commitments import DynamoCommitments
    from redpacket.fairness.dynamodb.log import DynamoLog
    from redpacket.fairness.ports import HeadSigner

BATCH_MAX = 2_048
"""Maximum entries per append; with nodes, at most 100 rows in a log of up to 2^31 entries."""

LISTED_MAX = BATCH_MAX

PLACES_MAX = 50
"""Maximum places per transaction. Each place takes two rows."""

_READ_AT_ONCE = 100
"""Ids per read: the limit of BatchGetItem."""

TRIES = 5

LATE_MS = 5 * 60_000
"""Milliseconds after which an appended commitment is reported as late. A late entry proves less."""

RESERVE_MS = 15_000
"""Milliseconds reserved at the end of a run for one transaction with retries and one signature."""


@dataclass(frozen=True, slots=True)
class LogReport:
    """Counts of one run."""

    appended_count: int
    size: int
    is_signed: bool


@dataclass(frozen=True, slots=True)
class LogPorts:
    """Dependencies for extending the log."""

    log: DynamoLog
    commitments: DynamoCommitments
    signer: HeadSigner
    clock: Clock
    logger: EventLogger
    in_parallel: InParallel


def extend_log(named: Sequence[str], stop_at_ms: int, *, ports: LogPorts) -> LogReport:
    """Append the *named* commitments (hashes of ids), then other pending ones; sign the head.

    Raises InvariantViolated before any append if the log differs from the signed head.
    """
    is_signed = sign_head(ports)
    appended_count = _append_waiting(named, stop_at_ms, ports)
    if appended_count:
        is_signed = sign_head(ports)
    return LogReport(appended_count, ports.log.find_end()[0].size, is_signed)


def _append_waiting(named: Sequence[str], stop_at_ms: int, ports: LogPorts) -> int:
    seen: set[str] = set()
    count = 0
    pending = list(dict.fromkeys(named))
    while True:
        # The list is eventually consistent and may contain entries that were just appended.
        pending = pending or [
            commitment
            for commitment in ports.commitments.list_waiting(LISTED_MAX)
            if commitment not in seen
        ]
        if not pending or ports.clock.now_ms() >= stop_at_ms:
            return count
        batch, pending = pending[:BATCH_MAX], pending[BATCH_MAX:]
        count += _append(batch, ports)
        seen.update(batch)


def _append(id_hashes: Sequence[str], ports: LogPorts) -> int:
    for _ in range(TRIES):
        before = _end_with_places(ports)
        # Read places before commitments, because another run may write places between the reads.
        placed = dict(
            _in_chunks(
                lambda chunk: ports.log.find_places(chunk).items(), id_hashes, _READ_AT_ONCE, ports
            )
        )
        noted = _in_chunks(ports.commitments.find, id_hashes, _READ_AT_ONCE, ports)
        entries = sorted(
            (entry.commitment for entry in noted if entry.index is None),
            key=lambda entry: (entry.at_ms, entry.id_hash),
        )
        places = {
            entry.id_hash: placed[entry.id_hash] for entry in entries if entry.id_hash in placed
        }
        for id_hash, index in places.items():
            # The commitment's row was overwritten. Store its index again, so that it stops waiting.
            # Reconciliation later compares the row with the log entry.
            ports.logger.event("log_differs", id_hash=id_hash, index=index)
            ports.log.place([(id_hash, index)])
        entries = [entry for entry in entries if entry.id_hash not in places]
        if len(noted) < len(id_hashes):
            ports.logger.event("commitment_unreadable", count=len(id_hashes) - len(noted))
        if not entries:
            return 0
        after, nodes = _extended(before, entries, ports)
        if ports.log.append(before, after, entries, nodes):
            _report_late(entries, ports)
            _assign_indexes(list(enumerate(entries, start=before.size)), after, ports)
            return len(entries)
    # Another run appended first in every attempt, so these commitments stay pending.
    return 0


def _end_with_places(ports: LogPorts) -> LogHead:
    """Store the places that a crashed run left out, and return the log's end."""
    end, placed_size = ports.log.find_end()
    if placed_size < end.size:
        _assign_indexes(ports.log.list_entries(placed_size, end.size - placed_size), end, ports)
    return end


def _assign_indexes(
    entries: Sequence[tuple[int, Commitment]], end: LogHead, ports: LogPorts
) -> None:
    places = [(entry.id_hash, index) for index, entry in entries]
    for id_hash in _in_chunks(ports.log.place, places, PLACES_MAX, ports):
        # The commitment's row was overwritten; reconciliation compares it with the log entry.
        ports.logger.event("log_differs", id_hash=id_hash)
    ports.log.note_placed(end)


def _in_chunks(
    do: Callable[[Sequence[Any]], Iterable[Any]], items: Sequence[Any], size: int, ports: LogPorts
) -> list[Any]:
    chunks = [items[start : start + size] for start in range(0, len(items), size)]
    return [*chain(*ports.in_parallel(do, chunks))]


def _extended(
    before: LogHead, entries: Sequence[Commitment], ports: LogPorts
) -> tuple[LogHead, dict[Node, bytes]]:
    peaks = _peaks(before, ports)
    nodes = {node: node_hash for entry in entries for node, node_hash in peaks.append(entry.leaf)}
    return LogHead(peaks.size, peaks.root.hex()), nodes


def _peaks(head: LogHead, ports: LogPorts) -> Peaks:
    wanted = nodes_of((0, head.size))
    hashes = ports.log.find_nodes(wanted)
    peaks = Peaks(head.size, [hashes[node] for node in wanted if node in hashes])
    if len(peaks.hashes) < len(wanted) or peaks.root.hex() != head.root:
        ports.logger.event("log_differs", size=head.size)
        raise InvariantViolated("the rows of the log do not hash to its root")
    return peaks


def _report_late(entries: Sequence[Commitment], ports: LogPorts) -> None:
    late = [entry for entry in entries if ports.clock.now_ms() - entry.at_ms > LATE_MS]
    if late:
        ports.logger.event("commitment_late", count=len(late), oldest_at_ms=late[0].at_ms)


def sign_head(ports: LogPorts) -> bool:
    """Sign and publish the head; return False if this head or a newer one is already published.

    Raises InvariantViolated if the log does not extend the last signed head.
    """
    before = _check_signed(ports)
    end, _ = ports.log.find_end()
    _check_extends(before, end, ports)
    if before and before.head == end:
        return False
    key = ports.signer.public_key()
    signature = ports.signer.sign(end.text(key).encode())
    return ports.log.publish(SignedHead(end, signature, key), before)


def _check_signed(ports: LogPorts) -> SignedHead | None:
    signed = ports.log.find_signed()
    if signed and not (signed.public_key == ports.signer.public_key() and signed.is_signed):
        ports.logger.event("log_differs", size=signed.head.size)
        raise InvariantViolated("the published head was not signed by our key")
    return signed


def _check_extends(before: SignedHead | None, end: LogHead, ports: LogPorts) -> None:
    signed_size = before.head.size if before else 0
    signed_root = before.head.root if before else EMPTY_ROOT.hex()
    ranges = consistency_ranges(signed_size, end.size) if signed_size <= end.size else []
    nodes = ports.log.find_nodes([node for leaves in ranges for node in nodes_of(leaves)])
    is_whole = all(node in nodes for leaves in ranges for node in nodes_of(leaves))
    path = [hash_of(leaves, nodes) for leaves in ranges] if is_whole else []
    roots = bytes.fromhex(signed_root), bytes.fromhex(end.root)
    extends = is_consistent(signed_size, end.size, path, *roots)
    if not extends or (before is None and end.size):
        ports.logger.event("log_differs", size=end.size)
        raise InvariantViolated("the log does not extend the last signed head")
