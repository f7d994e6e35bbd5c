"""What the public log of commitments needs: what waits, the rows of its tree, what signs heads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from redpacket.domain.log import Commitment, LogHead, SignedHead
    from redpacket.domain.merkle import Node


@dataclass(frozen=True, slots=True)
class NotedCommitment:
    """A commitment as it was noted with what it commits to; *index* is its place in the log.

    None until it has one.
    """

    commitment: Commitment
    index: int | None


class Commitments(Protocol):
    """The commitments that were noted, and those of them that wait for a place in the log."""

    def list_waiting(self, limit: int) -> list[str]:
        """Return the hashes of about so many ids that wait, the oldest first; some may be late."""

    def find(self, id_hashes: Sequence[str]) -> list[NotedCommitment]:
        """Return those that were noted and can be read, in no order, by strong reads."""


class LogBook(Protocol):
    """The rows of the log. An entry, a node and a signed head never change once they are there."""

    def find_head(self) -> LogHead:
        """Return how far the log is; a head of nothing where no entry was ever appended."""

    def find_signed(self) -> SignedHead | None:
        """Return the newest head that was signed."""

    def append(
        self,
        before: LogHead,
        after: LogHead,
        entries: Sequence[Commitment],
        nodes: Mapping[Node, bytes],
    ) -> bool:
        """Append entries, with the nodes that they complete, to the log that ends with *before*.

        All of it or nothing. False, without effect, where the log has another end by now, or one
        of the entries a place.
        """

    def publish(self, head: SignedHead, before: SignedHead | None) -> bool:
        """Show a head in place of *before*; False, without effect, where another one is shown."""

    def list_entries(self, first: int, limit: int) -> list[tuple[int, Commitment]]:
        """Return entries by index, at most *limit*; fewer where a partition of rows ends."""

    def find_nodes(self, nodes: Sequence[Node]) -> dict[Node, bytes]:
        """Return the hashes of those nodes that are there, of leaves by their entries."""


class HeadSigner(Protocol):
    """What signs heads; its private key never leaves the key service."""

    def sign(self, message: bytes) -> bytes:
        """Return the signature in DER."""

    def public_key(self) -> bytes:
        """Return the public key in DER; it never changes."""
