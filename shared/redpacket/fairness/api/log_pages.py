"""Pages of the public log: entries, proofs, the checkpoint, and tiles."""

from __future__ import annotations

import gzip
import re
from typing import TYPE_CHECKING, cast

from redpacket.containers import containers
from redpacket.fairness.model.tiles import TILE_PATTERN
from redpacket.fairness.use_cases.read_log import (
    prove_consistency,
    prove_inclusion,
    read_entries,
    read_head,
    read_tile,
)
from redpacket.platform.bounds import LIMIT_MAX, LOG_SIZE_MAX
from redpacket.platform.errors import InvalidRequest
from redpacket.platform.http.api import HttpAnswer
from redpacket.platform.http.entity_tags import tagged
from redpacket.platform.http.parameters import integer, required

if TYPE_CHECKING:
    from redpacket.fairness.api import answers as log
    from redpacket.fairness.model.log import Commitment
    from redpacket.platform.http.request import HttpRequest

LOG_CACHING = ("public, max-age=1",)
PROOF_CACHING = ("public, max-age=1", "public, max-age=31536000, immutable")
"""Cache headers for proofs of the newest head, which changes, and for proofs of a given size."""

NOTE, TILE = "text/plain; charset=utf-8", "application/octet-stream"

_DIGEST = re.compile("[0-9a-f]{64}")

cursor_of = integer("cursor", 0, LOG_SIZE_MAX, missing=0, meaning="First index of the page.")
size_of = integer(
    "size",
    1,
    LOG_SIZE_MAX,
    missing=None,
    meaning="Size of the log; by default, the newest head's size.",
)
to_of = integer(
    "to",
    1,
    LOG_SIZE_MAX,
    missing=None,
    meaning="The later size; by default, the newest head's size.",
)
_from_of = integer("from", 1, LOG_SIZE_MAX, missing=0, meaning="The earlier size.")


@required("query", "id_hash", type="string", pattern=f"^{_DIGEST.pattern}$")
def id_hash_of(text: str) -> str:
    """SHA-256 of a packet id or campaign id, in hex."""
    if not _DIGEST.fullmatch(text):
        raise InvalidRequest.of("id_hash", f"must be a SHA-256 hash in hex: {_DIGEST.pattern}")
    return text


@required("path", "proxy", type="string", pattern=f"^{TILE_PATTERN}$")
def tile_path_of(text: str) -> str:
    """Level and index of a tile as in C2SP tlog-tiles: `0/000`, `1/x001/234.p/7`, `entries/000`."""
    return text


@required("query", "from", type="integer", minimum=1, maximum=LOG_SIZE_MAX)
def from_of(text: str) -> int:
    """Size of an earlier head that you stored."""
    return _from_of.check(text)


def entries_page(request: HttpRequest) -> HttpAnswer[log.LogPage]:
    """Show the entries from index *cursor* on, with the signed head."""
    signed, entries = read_entries(
        cursor_of(request), LIMIT_MAX, log=containers.fairness.public_log
    )
    end = entries[-1][0] + 1 if entries else signed.head.size
    body: log.LogPage = {
        "items": [_entry_view(index, entry) for index, entry in entries],
        "head": signed.head.root,
        "size": signed.head.size,
        "signature": signed.signature.hex(),
        "key_id": signed.key_id,
        "public_key": signed.public_key.hex(),
        "next": str(end) if end < signed.head.size else None,
    }
    return tagged(body, request, {"cache-control": LOG_CACHING[0]})


def inclusion_page(request: HttpRequest) -> HttpAnswer[log.LogInclusion] | None:
    """Prove that the log contains an id's entry, or return None if it does not."""
    given_size = size_of(request)
    proof = prove_inclusion(id_hash_of(request), given_size, log=containers.fairness.public_log)
    if proof is None:
        return None
    index, entry, size, path = proof
    hashes = [each.hex() for each in path]
    body: log.LogInclusion = {**_entry_view(index, entry), "size": size, "path": hashes}
    return tagged(body, request, {"cache-control": PROOF_CACHING[given_size is not None]})


def consistency_page(request: HttpRequest) -> HttpAnswer[log.LogConsistency]:
    """Prove that the log has only grown between two sizes."""
    old, to = from_of(request), to_of(request)
    new, path = prove_consistency(old, to, log=containers.fairness.public_log)
    hashes = [each.hex() for each in path]
    body: log.LogConsistency = {"from_size": old, "size": new, "path": hashes}
    return tagged(body, request, {"cache-control": PROOF_CACHING[to is not None]})


def checkpoint_page(request: HttpRequest) -> HttpAnswer[log.Checkpoint]:
    """Show the signed head as a note."""
    body = read_head(log=containers.fairness.public_log).checkpoint
    return tagged(
        cast("log.Checkpoint", body),
        request,
        {"content-type": NOTE, "cache-control": LOG_CACHING[0]},
    )


def tile_page(request: HttpRequest) -> HttpAnswer[bytes] | None:
    """Show a tile of hashes or a bundle of entries; return None if the signed log has none."""
    path = tile_path_of(request)
    tile = read_tile(path, log=containers.fairness.public_log)
    if tile is None:
        return None
    headers = {"content-type": TILE, "cache-control": PROOF_CACHING[1]}
    if path.startswith("entries/"):
        tile, headers["content-encoding"] = gzip.compress(tile, mtime=0), "gzip"
    return HttpAnswer(tile, headers=headers)


def _entry_view(index: int, entry: Commitment) -> log.LogEntry:
    return {
        "index": index,
        "kind": entry.kind,
        "id_hash": entry.id_hash,
        "commitment": entry.commitment,
        "at_ms": entry.at_ms,
    }
