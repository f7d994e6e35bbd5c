"""Rate at which commitments of sends enter the public log.

The real use case and adapters run with 32 threads against a model of DynamoDB in virtual time
(`bench/slow_dynamo.py`). At the start, ENTRIES commitments wait. The control appends 17 entries at
a time, the maximum that fits into one transaction together with their places.
"""

from collections.abc import Callable, Sequence
from typing import Any

from bench.slow_dynamo import SlowDynamo, Units, indexes_of
from bench.virtual import VirtualTime
from local.template import read_template
from redpacket.containers.fairness import LOG_THREADS
from redpacket.fairness.dynamodb.commitments import DynamoCommitments, note_commitment
from redpacket.fairness.dynamodb.log import DynamoLog
from redpacket.fairness.model.log import Commitment, CommitmentKind, id_hash_of
from redpacket.fairness.use_cases import extend_log
from redpacket.platform.dynamodb.client import Dynamo
from redpacket.platform.settings import Tables
from testing.builders import NOW_MS
from testing.fairness.fake_head_signer import FakeSigner
from testing.fakes import FakeLogger
from testing.platform.cloud import TABLES

ENTRIES, FEW_ENTRIES = 20_000, 1_020
CONTROL_BATCH = 17
SEED = 1


def measure() -> dict[str, float]:
    """Return the figures of this bench."""
    deployed = read_template()
    alone_s, units = run(ENTRIES, 1, deployed)
    two_s, _ = run(ENTRIES, 2, deployed)
    batch_max, extend_log.BATCH_MAX = extend_log.BATCH_MAX, CONTROL_BATCH
    control_s, _ = run(FEW_ENTRIES, 1, deployed)
    extend_log.BATCH_MAX = batch_max
    return {
        "entries_per_s": round(ENTRIES / alone_s),
        "entries_per_s_of_two": round(ENTRIES / two_s),
        "control_entries_per_s": round(FEW_ENTRIES / control_s),
        "wcu_per_entry": round(units.written / ENTRIES, 2),
    }


def run(count: int, runs: int, deployed: dict[str, Any]) -> tuple[float, Units]:
    """Return the seconds that *runs* concurrent runs take to log all commitments, and the units."""
    virtual = VirtualTime(NOW_MS)
    client = SlowDynamo(virtual, indexes_of(deployed), SEED)
    dynamo = Dynamo(lambda: client, Tables(**TABLES), pause_s=virtual.sleep_s)
    for number in range(count):
        entry = Commitment(CommitmentKind.PACKET, id_hash_of(f"{number}"), "c" * 64, NOW_MS)
        dynamo.transact(note_commitment(dynamo.tables.commitments, entry))
    client.units, client.is_slow = Units(), True
    ports = extend_log.LogPorts(
        log=DynamoLog(dynamo),
        commitments=DynamoCommitments(dynamo),
        signer=FakeSigner(),
        clock=virtual,
        logger=FakeLogger(),
        in_parallel=threads(virtual),
    )
    ends_s = []

    def extend() -> None:
        extend_log.extend_log([], virtual.now_ms() + 10**6, ports=ports)
        ends_s.append(virtual.now_s)

    for _ in range(runs):
        virtual.spawn(extend)
    virtual.run()
    end, placed = ports.log.find_end()
    assert (end.size, placed) == (count, count), "a commitment was not logged"
    return max(ends_s), client.units


def threads(virtual: VirtualTime) -> Callable[[Callable[[Any], Any], Sequence[Any]], list[Any]]:
    """Return a parallel map with as many threads as the log function has."""

    def in_parallel(do: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        results: dict[int, Any] = {}
        remaining = iter(enumerate(items))

        def work(_: int) -> None:
            for number, item in remaining:
                results[number] = do(item)

        virtual.in_parallel(work, range(min(LOG_THREADS, len(items))))
        return [results[number] for number in range(len(items))]

    return in_parallel
