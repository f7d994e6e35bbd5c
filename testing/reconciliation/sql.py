"""Proofs for the SQL statements that reconciliation runs.

`make sql-parity` proves that both engines interpret each statement alike. `make sql-faults` proves
that each check finds its planted fault in a full export and in an increment. It also compares SQL
with the Python checks on random ledgers: first clean, and then with a forgery in an increment.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from random import Random
from typing import Any

import sqlglot
from sqlglot.errors import ParseError

from redpacket.packets.errors import PacketEmptied
from redpacket.platform.difference import Difference
from redpacket.reconciliation.use_cases.statements import (
    MOVING_MS,
    Run,
    checks,
    confirmed,
    counted,
    expanded,
    exported,
    images,
    reports,
    rows,
    rules,
    shown,
    tables,
    texts,
)
from testing.in_memory_system import InMemorySystem
from testing.reconciliation.checks import compare_history
from testing.reconciliation.planted import PLANTED, missed

FORBIDDEN = {
    "an integer division, which truncates in Trino alone": r"[\w)]\s*/\s*[\w(]",
    "concat(), which skips NULL in DuckDB": r"\bconcat\(",
    "a plain cast of exported text, which a forged row stops": r"(?<!TRY_)CAST\(item\.",
    "a sum of bigint, which overflows in Trino": r"SUM\(CAST\([^)]*AS bigint\)",
    "an engine-specific word": r"\b(epoch_ms|list|string_agg|EXCLUDE|QUALIFY|hash|md5|ILIKE)\b|::",
}
"""Patterns of constructs that the engines interpret differently, or that can abort a query."""

REFUSED = (
    "SELECT a / b FROM t",
    "SELECT a // b FROM t",
    "SELECT concat(a, b) FROM t",
    "SELECT CAST(item.at_ms.n AS bigint) FROM t",
    "SELECT SUM(CAST(a AS bigint)) FROM t",
    "SELECT string_agg(a) FROM t",
    "SELECT a::text FROM t",
)
"""Statements with one forbidden construct each."""

CHANGED = {
    "accounts": ("balance_fen", "amount_fen", "at_ms", "open_count", "received_fen_2026"),
    "shares": ("amount_fen", "share_no", "settled_at_ms"),
    "packets": ("claimed_fen", "refunded_fen", "claimed_count"),
    "quotas": ("claim_count",),
}
"""Numbers that a forger changes, keyed by table."""


def statements() -> Iterator[tuple[str, str]]:
    """Yield the name and text of every statement that an engine runs."""
    run = Run("00", 1_795_000_000_000, base="look_0")
    for each in (run, replace(run, base="")):
        yield from ((f"{name} {each.base}", text) for name, text in images(each).items())
    yield "exported", counted(exported(run, dict.fromkeys(tables(), 1)))
    yield from rows(run).items()
    for name, text in checks(run).items():
        yield f"{name}, counted", counted(text)
        yield f"{name}, confirmed", confirmed(name, text, "look_1.found")
    yield "shown", shown("found")
    yield from ((f"report {name}", text) for name, text in reports(run, "look_1").items())
    for name, text in texts("audits").items():
        yield name, expanded(text, run)


def refusals(text: str) -> list[str]:
    """Return the reasons for which a statement is forbidden; empty if it is allowed."""
    code = re.sub("'[^']*'", "''", text)
    reasons = [why for why, pattern in FORBIDDEN.items() if re.search(pattern, code, re.IGNORECASE)]
    # Only DuckDB converts the operands of `||` to text, so sqlglot would translate `||`
    # differently.
    plain = text.replace("||", "+")
    try:
        read = [
            sqlglot.transpile(plain, read=engine, write="trino") for engine in ("duckdb", "trino")
        ]
    except ParseError as error:
        return [*reasons, str(error)]
    return reasons if read[0] == read[1] else [*reasons, "different meanings in the two engines"]


def a_ledger(seed: int) -> InMemorySystem:
    """Return a random ledger without work in progress, old enough for every check."""
    random, system = Random(seed), InMemorySystem()
    users = [f"user-{number}" for number in range(random.randint(2, 6))]
    for _ in range(random.randint(1, 5)):
        packet = system.send(
            random.choice(users), count=random.randint(1, 5), life_ms=random.choice((60_000, 10**7))
        )
        for user in random.sample(users, random.randint(0, len(users))):
            with suppress(PacketEmptied):
                system.grab(packet, user)
    system.settle()
    if random.random() < 0.5:
        system.end()
    system.pass_time(MOVING_MS + 1)
    return system


def forge(system: InMemorySystem, random: Random) -> str:
    """Change a random number in a random row; return the attribute, table, and key."""
    cells = [
        (table, key, name)
        for table, names in CHANGED.items()
        for key, row in sorted(system.dynamo.tables.get(table, {}).items())
        for name in names
        if name in row
    ]
    table, key, name = random.choice(cells)
    row = system.dynamo.tables[table][key]
    row[name] = {"N": str(int(row[name]["N"]) + random.choice((-1, 1)))}
    return f"{name} of {table} {' '.join(key)}"


def move_entry(system: InMemorySystem, giver: str, receiver: str) -> None:
    """Move an account's last deposit entry, and the amount, to another account."""
    accounts, key = system.dynamo.tables["accounts"], max(_deposits(system, giver))
    row = accounts.pop(key)
    accounts[receiver, key[1]] = {**row, "pk": {"S": receiver}}
    for account, sign in ((giver, -1), (receiver, 1)):
        balance = accounts[account, "balance"]
        moved = int(balance["balance_fen"]["N"]) + sign * int(row["amount_fen"]["N"])
        balance["balance_fen"] = {"N": str(moved)}


def _deposits(system: InMemorySystem, account: str) -> list[tuple[str, str]]:
    rows = system.dynamo.tables["accounts"]
    return [
        key
        for key, row in rows.items()
        if key[0] == account and row.get("kind") == {"S": "deposit"}
    ]


def disagreement(seed: int) -> dict[str, Any] | None:
    """Check a clean and a forged ledger in SQL and Python; return None if SQL misses no rule."""
    system = a_ledger(seed)
    clean = [*system.differences(), *system.reconcile().differences]
    booked = system.ledger_state().entries
    what = forge(system, Random(seed))
    changed = compare_history(booked, system.ledger_state().entries)
    # Responses to users (I5) are not stored, so SQL cannot check them.
    by_python = _rules([*system.differences(), *changed]) - {"I5"}
    by_sql = _rules(system.reconcile().differences)
    if not clean and by_sql and by_python <= by_sql:
        return None
    return {"seed": seed, "clean": [str(difference) for difference in clean], "forged": what} | {
        "by_python": sorted(by_python),
        "by_sql": sorted(by_sql),
    }


def _rules(differences: list[Difference]) -> set[str]:
    return {difference.rule for difference in differences}


def parity() -> dict[str, Any]:
    """Return the refused statements, and the forbidden constructs that the rules miss."""
    texts = dict(statements())
    refused = {name: why for name, text in texts.items() if (why := refusals(text))}
    passed = [text for text in REFUSED if not refusals(text)]
    pairs = (
        [sqlglot.transpile(text, read=engine, write="trino") for engine in ("duckdb", "trino")]
        for text in texts.values()
    )
    return {
        "statements": len(texts),
        "differ_in_concatenation_alone": sum(pair != other for pair, other in pairs) - len(refused),
        "refused": refused,
        "forbidden_constructs": len(REFUSED),
        "forbidden_but_passed": passed,
        "is_bad": bool(refused or passed),
    }


def faults(ledgers: int, seed: int) -> dict[str, Any]:
    """Return the missed faults, and the random ledgers on which SQL and Python disagree."""
    missing = {
        f"{check}, {'incremental' if is_incremental else 'full'}": told
        for is_incremental in (False, True)
        for check in PLANTED
        if (told := missed(check, is_incremental=is_incremental)) is not None
    }
    seeds = range(seed, seed + ledgers)
    disagreements = [result for seed in seeds if (result := disagreement(seed))]
    return {
        "sql_checks": len(rules()),
        "faults": 2 * len(PLANTED),
        "missed": missing,
        "ledgers": ledgers,
        "seed": seed,
        "disagreements": disagreements,
        "is_bad": bool(missing or disagreements),
    }


def main() -> None:
    """Print the result as one JSON object; exit with an error if a proof fails."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("proof", choices=("parity", "faults"))
    arguments.add_argument("--ledgers", type=int, default=500)
    arguments.add_argument("--seed", type=int, default=1)
    given = arguments.parse_args()
    result = parity() if given.proof == "parity" else faults(given.ledgers, given.seed)
    is_bad = result.pop("is_bad")
    print(json.dumps(result))  # noqa: T201 - its last line is JSON
    raise SystemExit(is_bad)


if __name__ == "__main__":
    main()
