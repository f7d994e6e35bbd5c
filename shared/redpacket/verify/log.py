"""Offline verifier of the public log of commitments.

PYTHONPATH=shared python3 -m redpacket.verify log FILE...

The command needs only Python 3.11. The files contain new or saved API responses: pages of
`GET /transparency`, `GET /transparency/proof?id_hash=...`, and
`GET /transparency/consistency?from=...`. Save a page from time to time: its head later proves that
the log has only grown. Pass the id of a packet or a campaign with --id, and the commitment that you
saw with --commitment. The exit codes are those of `verify/command.py`.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from redpacket.fairness.model.log import (
    Commitment,
    CommitmentKind,
    LogHead,
    SignedHead,
    id_hash_of,
    verifier_key_of,
)
from redpacket.fairness.model.merkle import Peaks, is_consistent, is_included
from redpacket.verify.files import Document, Unreadable, get, shown_time
from redpacket.verify.findings import Findings

_PATH_MAX = 64


@dataclass(slots=True)
class Checked(Findings):
    """Findings about the log: verified, contradicted and unchecked parts."""

    lines: list[str] = field(default_factory=list)
    roots: dict[int, str] = field(default_factory=dict)
    """Root from the signed head, keyed by log size."""
    entries: dict[int, Commitment] = field(default_factory=dict)
    placed: set[int] = field(default_factory=set)
    """Indexes of entries that a signed head covers."""

    def skip_line(self, line: str) -> None:
        """Record that something could not be checked."""
        self.lines.append(line)
        self.unchecked_count += 1


def arguments_of(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse the command's arguments after `log`."""
    parser = argparse.ArgumentParser(
        prog="redpacket.verify log", description=__doc__.partition("\n")[0]
    )
    parser.add_argument(
        "files", type=Path, nargs="+", help="responses to GET /transparency, /proof, /consistency"
    )
    parser.add_argument("--id", help="id of a packet or a campaign whose entry is checked")
    parser.add_argument("--commitment", help="commitment that the packet or the campaign showed")
    parser.add_argument("--key-id", help="id of the log's key, as you noted it earlier")
    options = parser.parse_args(arguments)
    if options.commitment is not None and options.id is None:
        parser.error("--commitment needs --id")
    return options


def verify_log(
    documents: Sequence[tuple[str, Document]],
    subject_id: str | None = None,
    commitment: str | None = None,
    key_id: str | None = None,
) -> Checked:
    """Compare the statements that *documents* make about the log. Raises Unreadable."""
    checked = Checked()
    heads = [(name, each) for name, each in documents if "head" in each]
    _check_heads(heads, key_id, checked)
    for name, document in documents:
        size = get(document, "size", int) if "head" in document else None
        for item in _items(document):
            _take_entry(name, item, size, checked)
    _check_entries(checked, is_all=subject_id is None)
    _check_growth([document for document in documents if "from_size" in document[1]], checked)
    proofs = [
        document
        for document in documents
        if "path" in document[1] and "from_size" not in document[1]
    ]
    for name, proof in proofs:
        _check_inclusion(name, proof, checked)
    _check_ids(proofs, checked)
    if subject_id is not None:
        _check_subject(subject_id, commitment, proofs, checked)
    return checked


def _check_heads(
    documents: Sequence[tuple[str, Document]], key_id: str | None, checked: Checked
) -> None:
    keys = set() if key_id is None else {key_id.lower()}
    for name, document in documents:
        signed = _signed_of(document)
        head = signed.head
        keys.add(signed.key_id)
        if get(document, "key_id", str) != signed.key_id:
            checked.differences.append(f"{name}: key_id is not that of the public key")
        if not _is_signed(signed):
            checked.differences.append(
                f"{name}: the signature of the head of {head.size} entries is forged"
            )
        elif checked.roots.setdefault(head.size, head.root) != head.root:
            checked.differences.append(
                f"{name}: another head of {head.size} entries was signed: a fork"
            )
        checked.lines.append(f"head        {head.root} of {head.size} entries")
        note = f"note key    {verifier_key_of(signed.public_key)}"
        checked.lines += [] if note in checked.lines else [note]
    if len(keys) > 1:
        checked.differences.append("the heads have more than one key")
    for key in sorted(keys):
        checked.lines.append(f"key         {key}{'' if key_id else ': compare it with others'}")
    if not documents:
        checked.skip_line("signature   not checked: give a page of GET /transparency")


def _is_signed(signed: SignedHead) -> bool:
    try:
        return signed.is_signed
    except ValueError as error:
        raise Unreadable(str(error)) from error


def _take_entry(name: str, item: Document, size: int | None, checked: Checked) -> None:
    index, entry = get(item, "index", int), _entry_of(item)
    if size is not None and not 0 <= index < size:
        # A head of *size* entries proves nothing about later entries.
        checked.differences.append(
            f"{name}: entry {index} does not belong to the head of {size} entries"
        )
    if checked.entries.setdefault(index, entry) != entry:
        checked.differences.append(f"{name}: entry {index} differs from another file's")


def _check_entries(checked: Checked, *, is_all: bool) -> None:
    """Compare each head whose entries are all present with the root of these entries.

    If *is_all*, report the entries that were not compared as unchecked.
    """
    if not checked.entries:
        checked.lines.append("entries     not compared: missing")
        return
    peaks, compared = Peaks(), 0
    while peaks.size in checked.entries:
        peaks.append(checked.entries[peaks.size].leaf)
        if peaks.size in checked.roots:
            compared = peaks.size
            if peaks.root.hex() != checked.roots[peaks.size]:
                checked.differences.append(
                    f"the first {peaks.size} entries do not hash to the signed head"
                )
    checked.placed.update(range(compared))
    beyond = [size for size in checked.roots if size > peaks.size]
    line = f"entries     {compared} compared with signed heads"
    left = len(checked.entries) - compared
    note = checked.skip_line if left and is_all else checked.lines.append
    note(f"{line}, {left} not compared")
    if beyond:
        sizes = ", ".join(map(str, sorted(beyond)))
        checked.lines.append(f"entries     not compared with heads of {sizes}: give all pages")


def _check_growth(documents: Sequence[tuple[str, Document]], checked: Checked) -> None:
    proved = set()
    for name, document in documents:
        old, new = get(document, "from_size", int), get(document, "size", int)
        roots, path = (checked.roots.get(old), checked.roots.get(new)), _path_of(document)
        if roots[0] is None or roots[1] is None:
            checked.skip_line(f"growth      {old} to {new} not checked: give both heads")
            continue
        old_root, new_root = (bytes.fromhex(root) for root in roots if root)
        if is_consistent(old, new, path, old_root, new_root):
            proved.add((old, new))
            checked.lines.append(f"growth      the log of {new} entries begins with that of {old}")
        else:
            checked.differences.append(
                f"{name}: the log of {new} entries does not begin with that of {old}"
            )
    sizes = sorted(checked.roots)
    for old, new in pairwise(sizes):
        is_recomputed = all(index in checked.entries for index in range(new))
        if old and (old, new) not in proved and not is_recomputed:
            checked.skip_line(f"growth      {old} to {new} not checked: give its proof")


def _check_inclusion(name: str, proof: Document, checked: Checked) -> None:
    index, size, entry = get(proof, "index", int), get(proof, "size", int), _entry_of(proof)
    root, path = checked.roots.get(size), _path_of(proof)
    if root is None:
        checked.skip_line(f"inclusion   {index} not checked: give a head of {size} entries")
    elif is_included(entry.leaf, index, size, path, bytes.fromhex(root)):
        checked.placed.add(index)
        checked.lines.append(f"inclusion   {entry} is entry {index} of {size}")
    else:
        checked.differences.append(f"{name}: entry {index} is not in the log of {size} entries")


def _check_ids(proofs: Sequence[tuple[str, Document]], checked: Checked) -> None:
    """Report ids with two entries, of which only the first proves an early commitment."""
    proved = ((get(proof, "index", int), _entry_of(proof)) for _, proof in proofs)
    indexes: dict[str, set[int]] = {}
    for index, entry in (*checked.entries.items(), *proved):
        indexes.setdefault(entry.id_hash, set()).add(index)
    for id_hash, entry_nos in indexes.items():
        if len(entry_nos) > 1:
            checked.differences.append(
                f"id_hash {id_hash} has entries {sorted(entry_nos)}: an id has only one"
            )


def _check_subject(
    subject_id: str,
    commitment: str | None,
    proofs: Sequence[tuple[str, Document]],
    checked: Checked,
) -> None:
    """Check that an id has an entry, and compare the entry with *commitment* if given."""
    id_hash = id_hash_of(subject_id)
    proved = {get(proof, "index", int): _entry_of(proof) for _, proof in proofs}
    entries = {
        index: entry
        for index, entry in {**checked.entries, **proved}.items()
        if entry.id_hash == id_hash
    }
    if not entries:
        checked.differences.append(f"{subject_id}: its entry is in none of the files")
    for index, entry in entries.items():
        at = shown_time(entry.at_ms)
        checked.lines.append(f"{entry.kind.value:<12}entry {index}, committed to at {at}")
        if index not in checked.placed:
            checked.skip_line(f"place       {index} not checked: give its proof and a head")
        if commitment is None:
            checked.lines.append("commitment  not compared: give --commitment")
        elif entry.commitment != commitment.lower():
            checked.differences.append(
                f"{subject_id}: committed to {entry.commitment}, but showed {commitment}"
            )


# ---- reading


def _items(document: Document) -> list[Document]:
    items = get(document, "items", list) if "items" in document else []
    if not all(isinstance(item, dict) for item in items):
        raise Unreadable("an entry is not a JSON object")
    return items


def _entry_of(item: Document) -> Commitment:
    try:
        kind = CommitmentKind(get(item, "kind", str))
    except ValueError as error:
        raise Unreadable(str(error)) from error
    id_hash, commitment = _digest(item, "id_hash"), _digest(item, "commitment")
    return Commitment(kind, id_hash, commitment, get(item, "at_ms", int))


def _signed_of(document: Document) -> SignedHead:
    signature, public_key = _digest(document, "signature", 128), _digest(document, "public_key")
    head = LogHead(get(document, "size", int), _digest(document, "head"))
    return SignedHead(head, bytes.fromhex(signature), bytes.fromhex(public_key))


def _path_of(document: Document) -> list[bytes]:
    path = get(document, "path", list)
    if len(path) > _PATH_MAX:
        raise Unreadable(f"a path has more than {_PATH_MAX} hashes")
    return [bytes.fromhex(_digest({"a hash of a path": each}, "a hash of a path")) for each in path]


def _digest(document: Document, name: str, length: int = 64) -> str:
    text: str = get(document, name, str)
    if not re.fullmatch(f"[0-9a-f]{{{length}}}", text):
        raise Unreadable(f"{name} is not {length} digits in hex")
    return text
