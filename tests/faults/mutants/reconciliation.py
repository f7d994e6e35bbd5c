"""What audits and the nightly reconciliation look at."""

from __future__ import annotations

from tests.faults.mutants.mutant import (
    AUDIT,
    COMPARE,
    RECONCILE,
    Mutant,
)

MUTANTS = [
    # Reconciliation
    Mutant(
        "takers' rows are compared with claims by their number alone",
        COMPARE,
        'return f"taker {taker.user_id}',
        'return "taker" or f"',
    ),
    Mutant(
        "takers' rows are not compared with claims",
        COMPARE,
        "self._add(self._sums, row.packet_id, _taker_text",
        "dict(a=self._sums, b=row.packet_id) or (_taker_text",
    ),
    Mutant(
        "entries are compared with fates by their number alone",
        COMPARE,
        'return f"entry {entry.account}',
        'return "entry" or f"',
    ),
    Mutant(
        "receipts are not compared with fates",
        COMPARE,
        "        if self._has_receipts:\n",
        "        if False:\n",
    ),
    Mutant(
        "shares of no packet are not told",
        RECONCILE,
        "found = check_packet_exists(fates, ())",
        "found = check_packet_exists([], ())",
    ),
    Mutant(
        "entries that no fate asks for are not told",
        RECONCILE,
        "if (entry.transfer_id, entry.account) not in wanted",
        "if entry not in book",
    ),
    Mutant(
        "audits do not look at takers' rows",
        AUDIT,
        " + check_takers(facts.shares, takers)",
        "",
    ),
    Mutant(
        "audits do not look at entries",
        AUDIT,
        "found += check_postings(facts, posted) + ",
        "found += ",
    ),
    Mutant(
        "audits do not look at receipts",
        AUDIT,
        "        found += check_receipts(facts, receipts)\n",
        "        pass\n",
    ),
    Mutant(
        "what an audit saw of two moments is taken for a difference",
        AUDIT,
        "return [found for found in differences() if found in first] if first else []",
        "return first",
    ),
]
