"""Comparison of the public log with its signed head, the last walk, and its subjects.

An attacker who can write the tables can't sign a head or change the last walk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from redpacket.fairness.log_ports import Commitments, LogBook
from redpacket.fairness.model.log import Commitment, CommitmentKind, id_hash_of
from redpacket.fairness.model.merkle import EMPTY_ROOT, Peaks
from redpacket.lottery.model.lottery import CampaignSnapshot
from redpacket.packets.model.packet import Packet
from redpacket.platform.errors import InvariantViolated
from redpacket.reconciliation.checks.facts import Difference
from redpacket.reconciliation.scanned import Logged, Scanned
from redpacket.reconciliation.use_cases.run_state import Progress

DEMANDED_AFTER_MS = 3_600_000
"""Milliseconds after the first entry from which entries are required: deployment is gradual."""


class LogComparison:
    """Comparison of the log in one run; *tell* records a difference."""

    def __init__(
        self,
        book: LogBook,
        commitments: Commitments,
        run: Progress,
        tell: Callable[[Difference], None],
    ) -> None:
        self._book = book
        self._commitments = commitments
        self._run = run
        self._walk = run.log
        self._tell = tell

    def walk(self, rows: Sequence[Scanned], *, is_last: bool) -> None:
        """Add the next entries in order, and compare the final root with the signed head."""
        if self._walk.head_size < 0:
            self._begin()
        walk = self._walk
        peaks = Peaks(walk.size, [bytes.fromhex(each) for each in walk.peaks])
        taken = []
        for row in rows:
            # Only the first missing entry is reported; entries after it are not compared.
            if isinstance(row, Logged) and row.index == peaks.size < walk.head_size:
                taken.append(row)
                peaks.append(row.entry.leaf)
                if peaks.size == walk.sealed_size:
                    self._compare("log as it was compared before", walk.sealed_root, peaks)
        self._compare_places(taken)
        walk.size, walk.peaks = peaks.size, [each.hex() for each in peaks.hashes]
        if is_last:
            self._end(peaks)

    def _begin(self) -> None:
        walk, signed = self._walk, self._book.find_signed()
        walk.head_size = signed.head.size if signed else 0
        walk.head_root = signed.head.root if signed else EMPTY_ROOT.hex()
        if signed is None:
            return
        if not signed.is_signed_by(signed.public_key):
            self._differs("signature of the head", "its key's", "another")
        if walk.key_id and signed.key_id != walk.key_id:
            self._differs("key of the head", walk.key_id, signed.key_id)
        walk.key_id = walk.key_id or signed.key_id

    def _end(self, peaks: Peaks) -> None:
        walk = self._walk
        if peaks.size < max(walk.head_size, walk.sealed_size):
            self._differs(
                f"entry {peaks.size}", f"one of {max(walk.head_size, walk.sealed_size)}", "none"
            )
            return
        self._compare("root of the signed head", walk.head_root, peaks)
        if peaks.root.hex() == walk.head_root:
            walk.sealed_size, walk.sealed_root = peaks.size, walk.head_root

    def _compare_places(self, rows: Sequence[Logged]) -> None:
        """Report entries whose commitment is another one, has another place, or none."""
        found = self._commitments.find([row.entry.id_hash for row in rows]) if rows else []
        noted = {each.commitment.id_hash: each for each in found}
        for row in rows:
            each = noted.get(row.entry.id_hash)
            place = each.index if each else None
            if place != row.index:
                said = "none" if place is None else str(place)
            elif each and each.commitment != row.entry:
                said = f"of {each.commitment}"
            else:
                continue
            self._differs(f"place of {row.entry.id_hash}", str(row.index), said)

    def _compare(self, what: str, expected: str, peaks: Peaks) -> None:
        if peaks.root.hex() != expected:
            self._differs(f"{what}, of {peaks.size} entries", expected, peaks.root.hex())

    def _differs(self, what: str, expected: str, actual: str) -> None:
        self._tell(Difference("log", "the public log", what, expected, actual))

    def compare_subjects(self, rows: Iterable[Scanned]) -> None:
        """Report packets and campaigns whose entry is missing or different."""
        wanted = {each.id_hash: each for row in rows if (each := _subject_of(row))}
        if not wanted or not self._began_at_ms():
            return
        noted = {each.commitment.id_hash: each for each in self._commitments.find(list(wanted))}
        places = [(0, each.index) for each in noted.values() if each.index is not None]
        leaves = self._book.find_nodes(places)
        for id_hash, subject in wanted.items():
            found = noted.get(id_hash)
            at_ms = subject.at_ms or (found.commitment.at_ms if found else 0)
            is_young = at_ms >= self._run.until_ms
            if is_young or at_ms < self._began_at_ms() + DEMANDED_AFTER_MS:
                continue
            entry = Commitment(subject.kind, id_hash, subject.commitment, at_ms)
            if found is None or found.index is None:
                said = "none"
            elif leaves.get((0, found.index)) != entry.leaf:
                said = f"another one at {found.index}"
            else:
                continue
            self._tell(
                Difference("log", subject.name, "commitment in the log", entry.commitment, said)
            )

    def _began_at_ms(self) -> int:
        """Return the signed time of the first entry, or 0 without one."""
        walk = self._walk
        if walk.first_at_ms < 0:
            first = self._book.list_entries(0, 1)
            walk.first_at_ms = first[0][1].at_ms if first else 0
        return walk.first_at_ms


@dataclass(frozen=True, slots=True)
class _Subject:
    """Row that needs an entry; *at_ms* is 0 for a campaign, whose row lacks it."""

    name: str
    kind: CommitmentKind
    id_hash: str
    commitment: str
    at_ms: int = 0


def _subject_of(row: Scanned) -> _Subject | None:
    if isinstance(row, Packet) and not row.rules.prize_id:
        packet_id = row.packet_id
        try:
            commitment = row.terms.commitment
        except InvariantViolated:
            return None  # the packet's audit reports the missing key
        id_hash = id_hash_of(packet_id)
        kind = CommitmentKind.PACKET
        return _Subject(packet_id, kind, id_hash, commitment, row.created_at_ms)
    if isinstance(row, CampaignSnapshot):
        campaign_id, kind = row.campaign.campaign_id, CommitmentKind.CAMPAIGN
        name = f"campaign {campaign_id}"
        return _Subject(name, kind, id_hash_of(campaign_id), row.commitment)
    return None
