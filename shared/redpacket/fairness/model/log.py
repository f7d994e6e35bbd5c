"""The public log of commitments: entries, and signed heads of a Merkle tree that only grows.

docs/fairness.md describes how to verify the log, and docs/adr/0040 describes the design.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from dataclasses import dataclass
from enum import StrEnum

from redpacket.fairness.model.ed25519 import has_signed
from redpacket.fairness.model.merkle import leaf_hash

_ED25519 = b"\1"
"""Type byte for Ed25519 in C2SP signed-note."""


class CommitmentKind(StrEnum):
    """Subject of a commitment; a campaign's commitment fixes the seeds of all its days."""

    PACKET = "packet"
    CAMPAIGN = "campaign"


@dataclass(frozen=True, slots=True)
class Commitment:
    """Log entry. It has only the hash of an id, because the id itself lets users grab a packet."""

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
class NotedCommitment:
    """Stored commitment; *index* is its place in the log, if it has one."""

    commitment: Commitment
    index: int | None


@dataclass(frozen=True, slots=True)
class LogHead:
    """State of the log at a point in time: the number of entries, and their root in hex."""

    size: int
    root: str

    def text(self, public_key: bytes) -> str:
        """Return the text to sign: a checkpoint (C2SP tlog-checkpoint)."""
        root = b64encode(bytes.fromhex(self.root)).decode()
        return f"{origin_of(public_key)}\n{self.size}\n{root}\n"


@dataclass(frozen=True, slots=True)
class SignedHead:
    """Head with its Ed25519 signature and the key that signed it."""

    head: LogHead
    signature: bytes
    public_key: bytes

    @property
    def key_id(self) -> str:
        """The SHA-256 of the key, in hex."""
        return hashlib.sha256(self.public_key).hexdigest()

    @property
    def is_signed(self) -> bool:
        """Whether the key made the signature. Raises ValueError for a malformed key."""
        text = self.head.text(self.public_key)
        return has_signed(self.public_key, text.encode(), self.signature)

    @property
    def checkpoint(self) -> str:
        """The head as a note that existing clients can verify (C2SP signed-note)."""
        signature = b64encode(_note_key_id(self.public_key) + self.signature).decode()
        text, name = self.head.text(self.public_key), origin_of(self.public_key)
        return f"{text}\n\u2014 {name} {signature}\n"


def origin_of(public_key: bytes) -> str:
    """Return the name of the log and of its key in notes, which depends only on the key."""
    return f"redpacket.log/{hashlib.sha256(public_key).hexdigest()[:16]}"


def verifier_key_of(public_key: bytes) -> str:
    """Return the key in the form that note clients accept."""
    key = b64encode(_ED25519 + public_key).decode()
    return f"{origin_of(public_key)}+{_note_key_id(public_key).hex()}+{key}"


def _note_key_id(public_key: bytes) -> bytes:
    name = origin_of(public_key).encode()
    return hashlib.sha256(name + b"\n" + _ED25519 + public_key).digest()[:4]


def id_hash_of(subject_id: str) -> str:
    """Return the log's hash of a packet's or a campaign's id."""
    return hashlib.sha256(subject_id.encode()).hexdigest()
