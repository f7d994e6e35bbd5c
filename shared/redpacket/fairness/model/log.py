"""The public log of commitments: entries, and signed heads of a Merkle tree that only grows.

docs/fairness.md describes how to verify it, docs/adr/0040 the design.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum

from redpacket.fairness.model.merkle import leaf_hash
from redpacket.fairness.model.p256 import has_signed


class CommitmentKind(StrEnum):
    """Subject of a commitment; a campaign's commitment fixes the seeds of all its days."""

    PACKET = "packet"
    CAMPAIGN = "campaign"


@dataclass(frozen=True, slots=True)
class Commitment:
    """An entry of the log: of an id only its hash, since a packet's id lets people grab it."""

    kind: CommitmentKind
    id_hash: str
    commitment: str
    at_ms: int

    def __str__(self) -> str:
        return f"rpl1,{self.kind},{self.id_hash},{self.commitment},{self.at_ms}"

    @property
    def leaf(self) -> bytes:
        """The hash of the entry in the tree."""
        return leaf_hash(str(self).encode())


@dataclass(frozen=True, slots=True)
class LogHead:
    """The log as it was at some moment: how many entries, and the root over them in hex."""

    size: int
    root: str
    at_ms: int

    def __str__(self) -> str:
        return f"rph1,{self.size},{self.root},{self.at_ms}"


@dataclass(frozen=True, slots=True)
class SignedHead:
    """A head with its signature and the key that made it; both are DER."""

    head: LogHead
    signature: bytes
    public_key: bytes

    @property
    def key_id(self) -> str:
        """The name of the key, which follows from it."""
        return key_id_of(self.public_key)

    def is_signed_by(self, public_key: bytes) -> bool:
        """Return whether the key made the signature. Raises ValueError for malformed bytes."""
        return has_signed(public_key, str(self.head).encode(), self.signature)


def key_id_of(public_key: bytes) -> str:
    """Return the SHA-256 of a public key in DER."""
    return hashlib.sha256(public_key).hexdigest()


def id_hash_of(subject_id: str) -> str:
    """Return what the log holds of the id of a packet or a campaign."""
    return hashlib.sha256(subject_id.encode()).hexdigest()
