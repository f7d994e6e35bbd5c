"""The public log: no entry is lost, doubled or rewritten, and nothing is signed unseen."""

from __future__ import annotations

from tests.faults.mutants.mutant import Mutant

MUTANTS = [
    Mutant(
        "a send is not committed to",
        "DynamoFunding.fund",
        "if self._commitments:",
        "if False:",
    ),
    Mutant(
        "a commitment gets two places",
        "HAS_NO_PLACE",
        "attribute_exists(pk) AND attribute_not_exists(log_index)",
        "attribute_exists(pk)",
    ),
    Mutant(
        "an end that is not there is moved",
        "ENDS_THERE",
        "log_size = :size AND root = :root",
        "log_size >= :size",
    ),
    Mutant(
        "a head takes the place of one that was shown in between",
        "SHOWS_THAT",
        "log_size = :size AND root = :root AND at_ms = :at_ms",
        "log_size = :size OR root = :root OR at_ms = :at_ms",
    ),
    Mutant(
        "what was rewritten is signed",
        "extend_log:_check_extends",
        "if not extends or (before is None and end.size):",
        "if before is None and end.size:",
    ),
    Mutant(
        "a log whose head was deleted is signed",
        "extend_log:_check_extends",
        "if not extends or (before is None and end.size):",
        "if not extends:",
    ),
    Mutant(
        "a head of another key is believed",
        "extend_log:_check_signed",
        "if signed and not signed.is_signed_by(ports.signer.public_key()):",
        "if signed and not signed.is_signed_by(signed.public_key):",
    ),
    Mutant(
        "nothing is checked before entries are appended",
        "extend_log:extend_log",
        "is_signed = sign_head(ports)\n    appended_count",
        "is_signed = False\n    appended_count",
    ),
    Mutant(
        "entries go above nodes that do not make the root",
        "extend_log:_peaks",
        "or peaks.root.hex() != head.root",
        "",
    ),
    Mutant(
        "entries that are not signed are shown",
        "read_log:read_entries",
        "min(limit, size - first)",
        "limit",
    ),
    Mutant(
        "an entry that is missing is passed over",
        "read_log:read_entries",
        "[index for index, _ in shown] != list(range(first, end)) or not shown",
        "False",
    ),
    Mutant(
        "a proof is of a log that is not signed",
        "read_log:_size",
        "given is not None and given > signed_size",
        "False",
    ),
    Mutant(
        "an entry is proved in a log that is too small",
        "read_log:prove_inclusion",
        "index is None or index >= size",
        "index is None",
    ),
    Mutant(
        "the root of the last walk is not remembered",
        "LogComparison._end",
        "walk.sealed_size, walk.sealed_root = peaks.size, walk.head_root",
        "pass",
    ),
    Mutant(
        "another key is not told",
        "LogComparison._begin",
        "if walk.key_id and signed.key_id != walk.key_id:",
        "if False:",
    ),
    Mutant(
        "a swapped commitment is not told",
        "LogComparison.compare_subjects",
        "elif leaves.get((0, found.index)) != entry.leaf:",
        "elif False:",
    ),
    Mutant(
        "a packet that was never logged is not told",
        "LogComparison.compare_subjects",
        "if found is None or found.index is None:",
        "if found is None or found.index is None:\n                continue\n            if False:",
    ),
    Mutant(
        "two entries of one id are not told",
        "LogComparison._compare_places",
        "if place != row.index:",
        "if False:",
    ),
    Mutant(
        "a forged signature is believed",
        "p256:has_signed",
        "return found is not None and found[0] % _N == r",
        "return found is not None",
    ),
    Mutant(
        "a leaf may be taken for a node",
        "merkle:leaf_hash",
        'b"\\0" + data',
        "data",
    ),
    Mutant(
        "a path need not begin with the old root",
        "merkle:is_consistent",
        "last == 0 and old_top == old_root and new_top == new_root",
        "last == 0 and new_top == new_root",
    ),
    Mutant(
        "a fork is not noticed",
        "log:_check_heads",
        "elif checked.roots.setdefault(head.size, head.root) != head.root:",
        "elif False:",
    ),
    Mutant(
        "entries need not make the root",
        "log:_check_entries",
        "if peaks.root.hex() != checked.roots[peaks.size]:",
        "if False:",
    ),
    Mutant(
        "a time that reads back as another one breaks the log",
        "commitments:_noted_of",
        "type(commitment.at_ms) is int and commitment.at_ms >= 0",
        "commitment.at_ms >= 0",
    ),
    Mutant(
        "a page may show an entry that its head has not",
        "_take_entry",
        "if size is not None and not 0 <= index < size:",
        "if False:",
    ),
]
