"""Ports for the public log of commitments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from redpacket.fairness.model.log import Commitment, LogHead, SignedHead
    from redpacket.fairness.model.merkle import Node

PLACES_MAX = 50
"""Places per transaction, each of two rows."""


@dataclass(frozen=True, slots=True)
class NotedCommitment:
    """Stored commitment; *index* is its place in the log, if it has one."""

    commitment: Commitment
    index: int | None


class Commitments(Protocol):
    """Stored commitments, and the list of those that await the log."""

    def list_waiting(self, limit: int) -> list[str]:
        """Return id hashes of about *limit* waiting commitments, oldest first; the list may lag."""

    def find(self, id_hashes: Sequence[str]) -> list[NotedCommitment]:
        """Return the stored, well-formed commitments."""


class PublicLog(Protocol):
    """Rows of the log; entries, nodes and signed heads never change."""

    def find_end(self) -> tuple[LogHead, int]:
        """Return the log's current head, of size 0 if it is empty, and how many have places."""

    def find_signed(self) -> SignedHead | None:
        """Return the newest signed head."""

    def append(
        self,
        before: LogHead,
        after: LogHead,
        entries: Sequence[Commitment],
        nodes: Mapping[Node, bytes],
    ) -> bool:
        """Append entries and completed nodes in one transaction; all before have places.

        Return False if *before* is no longer the end.
        """

    def place(self, places: Sequence[tuple[str, int]]) -> list[str]:
        """Write the index of each id's entry, for at most PLACES_MAX ids; may be repeated.

        Return the ids that have another place, or whose commitment is gone.
        """

    def note_placed(self, end: LogHead) -> None:
        """Record that all entries have places, unless the log has grown since *end*."""

    def publish(self, head: SignedHead, before: SignedHead | None) -> bool:
        """Publish a head in place of *before*; return False if another head is published."""

    def list_entries(self, first: int, limit: int) -> list[tuple[int, Commitment]]:
        """Return the existing entries of *limit* indexes from *first* on, in order."""

    def find_places(self, id_hashes: Sequence[str]) -> dict[str, int]:
        """Return the index of each id's only entry, for at most 100 ids that have one."""

    def find_nodes(self, nodes: Sequence[Node]) -> dict[Node, bytes]:
        """Return the hashes of existing nodes; a leaf's hash comes from its entry."""


class HeadSigner(Protocol):
    """Signer of heads; its private key never leaves the key service."""

    def sign(self, message: bytes) -> bytes:
        """Return the Ed25519 signature."""

    def public_key(self) -> bytes:
        """Return the public key of 32 bytes, which never changes."""
