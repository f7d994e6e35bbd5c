"""Speed and memory of reconciliation's queries in DuckDB, which type and check ROWS rows.

The rows are those of a real ledger of packets, repeated with different ids until there are ROWS
rows. On AWS, a run sends the same queries to Athena.
"""

import gzip
import json
import os
import re
import resource
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from local.warehouse import Duck, export
from redpacket.reconciliation.use_cases.statements import MOVING_MS, Run, file_columns, tables
from testing.fakes import Item
from testing.in_memory_system import InMemorySystem

ROWS = 2_000_000
PACKETS, SHARES, USERS = 60, 10, 30
AGAIN = "\0"
LEDGERS_PER_FILE = 60
OWN_IDS = (r"user-\d{3}", r"deposit[:-][0-9a-f]+", r"request#[0-9a-f]{32}")
"""Patterns of the ids, other than packet ids, that differ between the repeated ledgers."""

MEMORY = "1500MB"


def measure() -> dict[str, float]:
    """Return the figures of this bench."""
    system = a_ledger()
    row_count = sum(len(system.dynamo.tables.get(table, {})) for table in tables())
    times = max(1, int(os.environ.get("ROWS") or ROWS) // row_count)
    run = Run("00", system.clock.now_ms())
    with TemporaryDirectory() as name:
        folder = Path(name)
        count = write(system, times, folder)
        duck = Duck(folder, run, file=f"{folder}/typed.duckdb")
        for option in (
            f"memory_limit = '{MEMORY}'",
            f"temp_directory = '{folder}/spilled'",
            "preserve_insertion_order = false",
        ):
            duck.rows(f"SET {option}")
        scan_s = scan_cpu_s(duck, run)
        before_s = cpu_s()
        counts = duck.type_rows(run).counts(run)
        spent_s = cpu_s() - before_s
        # Scan again, because the machine's speed may have changed.
        scan_s = (scan_s + scan_cpu_s(duck, run)) / 2
    return {
        "rows": count,
        "rows_per_cpu_s": round(count / spent_s),
        "over_scan": round(spent_s / scan_s, 2),
        "peak_gb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
        "differences": sum(differences for _, differences in counts.values()),
    }


def a_ledger(packets: int = PACKETS) -> InMemorySystem:
    """Return a ledger of packets that closed long enough ago for reconciliation."""
    system = InMemorySystem()
    for number in range(packets):
        packet = system.send(f"user-{number % USERS:03}", count=SHARES)
        for share in range(SHARES - number % 2):
            system.grab(packet, f"user-{(number + share) % USERS:03}")
    system.settle()
    system.end()
    system.pass_time(MOVING_MS + 1)
    return system


def write(system: InMemorySystem, times: int, folder: Path) -> int:
    """Write an export of a repeated ledger. Return the number of rows."""
    packet_ids = [facts.packet.packet_id for facts in system.ledger_state().packets]
    ids = re.compile("|".join([*OWN_IDS, *map(re.escape, packet_ids)]))
    count = 0
    for table in tables():
        rows: dict[tuple[str, str], Item] = dict(system.dynamo.tables.get(table, {}))
        # The repeated ledgers share one account for deposits.
        deposits = rows.pop(("deposits", "balance"), None)
        if deposits:
            fen = int(deposits["balance_fen"]["N"]) * times
            deposits = {**deposits, "balance_fen": {"N": str(fen)}}
        count += export(folder / table, [deposits] if deposits else []) + len(rows) * times
        lines = (json.dumps({"Item": row}, default=str) + "\n" for row in rows.values())
        text = ids.sub(rf"\g<0>{AGAIN}", "".join(lines))
        ledgers = (text.replace(AGAIN, f"{number:07}") for number in range(times if rows else 0))
        for number, some in enumerate(iter(lambda: list(islice(ledgers, LEDGERS_PER_FILE)), []), 1):  # noqa: B023
            file = folder / table / "data" / f"{number:06}.json.gz"
            with gzip.open(file, "wt", compresslevel=1, encoding="utf-8") as left:
                left.writelines(some)
    return count


def scan_cpu_s(duck: Duck, run: Run) -> float:
    """Read each column of the same files once. Return the CPU seconds."""
    before_s = cpu_s()
    for name in file_columns(run):
        duck.rows(f"SELECT bit_xor(hash(row)) FROM {name} AS row")  # noqa: S608 - our own names
    return cpu_s() - before_s


def cpu_s() -> float:
    """Return the CPU seconds of this process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
