"""Response types of the public log of commitments."""

from __future__ import annotations

from typing import Annotated, NewType

from pydantic import Field
from typing_extensions import TypedDict

from redpacket.fairness.model.log import CommitmentKind
from redpacket.platform.bounds import LIMIT_MAX, LOG_SIZE_MAX
from redpacket.platform.http.answer_fields import SOME_DIGEST, AtMs, Next
from redpacket.platform.http.bodies import about

_DIGEST = "^[0-9a-f]{64}$"

Index = Annotated[int, about("Index in the log, from 0.", 7, ge=0, lt=LOG_SIZE_MAX)]
Size = Annotated[int, about("Number of entries in the log.", 42, ge=0, le=LOG_SIZE_MAX)]
IdHash = Annotated[
    str,
    about("SHA-256 of the packet id or campaign id, in hex.", SOME_DIGEST, pattern=_DIGEST),
]
Committed = Annotated[
    str,
    about("The `commitment` of the packet or campaign.", SOME_DIGEST, pattern=_DIGEST),
]
Hash = Annotated[str, Field(pattern=_DIGEST, examples=[SOME_DIGEST])]
Path = Annotated[
    list[Hash], about("Subtree hashes as in RFC 6962, from the leaf upward.", max_length=64)
]
Checkpoint = NewType("Checkpoint", str)
"""Signed head as a C2SP tlog-checkpoint note."""


class LogEntry(TypedDict):
    """Log entry; its leaf is the hash of `rpl1,<kind>,<id_hash>,<commitment>,<at_ms>`."""

    index: Index
    kind: CommitmentKind
    id_hash: IdHash
    commitment: Committed
    at_ms: AtMs


class LogPage(TypedDict):
    """Page of the log, with the newest signed head as in `/transparency/checkpoint`."""

    items: Annotated[list[LogEntry], about("Items on this page.", max_length=LIMIT_MAX)]
    head: Annotated[Hash, about("Root hash of all `size` entries.")]
    size: Size
    signature: Annotated[
        str,
        about("Ed25519 signature of the checkpoint's text.", "0f" * 64, pattern="^[0-9a-f]{128}$"),
    ]
    key_id: Annotated[Hash, about("SHA-256 of the public key, which never changes.")]
    public_key: Annotated[Hash, about("Public key for the signature: 32 bytes in hex.")]
    next: Next


class LogInclusion(LogEntry):
    """Proof that the log of `size` entries contains an entry."""

    size: Size
    path: Path


class LogConsistency(TypedDict):
    """Proof that the log of `size` entries begins with the log of `from_size` entries."""

    from_size: Size
    size: Size
    path: Path
