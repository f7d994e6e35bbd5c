"""Settlement rate of one packet when transactions conflict as in DynamoDB.

All SHARES shares of a packet are claimed and queued at once. Then 20 or 40 concurrent payouts
settle them through the real use case and adapters. DynamoDB (`bench/slow_dynamo.py`), the queue and
the pollers are models in virtual time. Transactions take 20 to 80 ms and hold their items
meanwhile. Partitions have DynamoDB's limits. Failed messages are hidden for 180 s, and go to the
DLQ after five receives. One message in a thousand is delivered twice. The rate covers only the time
in which payouts were active, without waits for hidden messages.

The control settles a fifth of the claims with the single escrow row of version 0.1.0
(`bench/naive_escrow.py`). It must miss the bound, because otherwise the model would prove nothing.
Write units are those of the rows that claims and settlement write, including indexes, at 1 KB per
unit. Canceled transactions do not count.
"""

import random
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeAlias

from bench import naive_escrow
from bench.counts import Till
from bench.slow_dynamo import SlowDynamo, Units, indexes_of
from bench.virtual import VirtualTime
from bench.waiting_claims import PayoutQueue, QueueTerms
from local.template import read_template
from redpacket.packets.model.claim import ShareRef
from redpacket.packets.use_cases.settle_claims import SettlePorts, settle_claims
from redpacket.platform.dynamodb.client import Dynamo
from redpacket.platform.errors import Unavailable
from redpacket.platform.settings import Tables
from testing.builders import NOW_MS, a_packet_id
from testing.fakes import FakeLogger
from testing.platform.cloud import TABLES

SHARES = 100_000
NAIVE_SHARES = 20_000
"""Shares of the control. A fifth is enough, because one row limits the rate at any packet size."""

PARTS = 5
"""Number of the packet's shards. Its shares are in eight times as many ledger partitions."""

PAYOUTS = (20, 40)
SEED = 1
DUPLICATES = 0.001
INVOCATION_MS = (10, 30)
"""Milliseconds between batches, for the poller's requests to SQS and the call of the function."""

SETTLED_LATE_MS = 1_000
"""Milliseconds between the claims and the start of the payouts."""

LEFT_FOR_LATER = {"packet_not_closed", "sums_not_kept"}

Settle: TypeAlias = Callable[[Iterable[ShareRef]], set[ShareRef]]


@dataclass(frozen=True, slots=True)
class Run:
    """Result of one run."""

    claims: int
    settled: int
    dead: int
    busy_s: float
    conflicts: int
    units: Units

    @property
    def claims_per_s(self) -> float:
        """Return the number of claims settled per second while payouts were active."""
        return self.settled / self.busy_s


def measure() -> dict[str, float]:
    """Return the figures of this bench."""
    deployed = read_template()
    with ProcessPoolExecutor() as pool:
        ours = [pool.submit(run_ours, SHARES, count, deployed) for count in PAYOUTS]
        controls = [pool.submit(run_naive, NAIVE_SHARES, count, deployed) for count in PAYOUTS]
        few, many = (run.result() for run in ours)
        naive, naive_many = (run.result() for run in controls)
    return {
        "claims_per_s": round(few.claims_per_s),
        "claims_per_s_40": round(many.claims_per_s),
        "dlq": few.dead + many.dead,
        "naive_claims_per_s": round(naive.claims_per_s),
        "naive_dlq": naive.dead + naive_many.dead,
        "wcu_per_claim": round(few.units.written / SHARES, 2),
    }


def run_ours(
    shares: int, payouts: int, deployed: Mapping[str, Any], *, has_receipts: bool = False
) -> Run:
    """Claim and settle *shares* shares of one packet through the real use case."""
    random.seed(SEED)
    virtual = VirtualTime(NOW_MS + SETTLED_LATE_MS)
    client = SlowDynamo(virtual, indexes_of(deployed), SEED)
    till = Till(
        Dynamo(lambda: client, Tables(**TABLES), pause_s=virtual.sleep_s), has_receipts=has_receipts
    )
    sent = till.send(shares, packet_id=a_packet_id(PARTS), expires_at_ms=NOW_MS + 10**8)
    # Count from here on, when only claims and settlement write.
    client.units = Units()
    refs = [share.ref for share in till.claim(sent, range(1, shares + 1), decided_at_ms=NOW_MS)]
    logger = FakeLogger()
    queue = _queued(refs, virtual, deployed)

    ports = SettlePorts(
        ledger=till.ledger,
        packets=till.packets,
        pages=till.pages,
        payouts=queue,
        clock=virtual,
        logger=logger,
        in_parallel=virtual.in_parallel,
    )

    def settle(batch: Iterable[ShareRef]) -> set[ShareRef]:
        return settle_claims(batch, ports=ports)

    def count_settled() -> int:
        chunks = (refs[start : start + 100] for start in range(0, len(refs), 100))
        outcomes = (ref for chunk in chunks for ref in till.packets.list_refs(chunk))
        return sum(share.settled_at_ms is not None for share in outcomes)

    run = _deliver(queue, settle, count_settled, payouts, client, virtual)
    # The use case may log errors only about work that it defers.
    assert {name for name, _ in logger.errors} <= LEFT_FOR_LATER, logger.errors
    return run


def run_naive(shares: int, payouts: int, deployed: Mapping[str, Any]) -> Run:
    """Claim and settle *shares* shares with the design of version 0.1.0."""
    random.seed(SEED)
    virtual = VirtualTime(NOW_MS + SETTLED_LATE_MS)
    client = SlowDynamo(virtual, {}, SEED)
    refs = naive_escrow.claim(client, a_packet_id(), shares)

    def settle(batch: Iterable[ShareRef]) -> set[ShareRef]:
        return naive_escrow.settle(
            batch, client=client, now_ms=virtual.now_ms, pause_s=virtual.sleep_s
        )

    def count_settled() -> int:
        return naive_escrow.count_settled(client, refs)

    queue = _queued(refs, virtual, deployed)
    return _deliver(queue, settle, count_settled, payouts, client, virtual)


def _queued(refs: list[ShareRef], virtual: VirtualTime, deployed: Mapping[str, Any]) -> PayoutQueue:
    """Queue all claims in random order, and some of them twice."""
    chosen = random.Random(SEED)  # noqa: S311 - chooses messages
    messages = [*refs, *chosen.sample(refs, int(len(refs) * DUPLICATES))]
    chosen.shuffle(messages)
    return PayoutQueue(messages, QueueTerms.of(deployed), virtual)


def _deliver(
    queue: PayoutQueue,
    settle: Settle,
    count_settled: Callable[[], int],
    payouts: int,
    client: SlowDynamo,
    virtual: VirtualTime,
) -> Run:
    """Run *payouts* concurrent payouts until the queue is empty."""
    chosen = random.Random(SEED)  # noqa: S311 - chooses latencies
    claims = queue.claim_count

    def invoke(batch: list[ShareRef]) -> set[ShareRef]:
        try:
            return settle(batch)
        except Unavailable:
            return set(batch)

    def pause_s() -> float:
        return chosen.uniform(*INVOCATION_MS) / 1000

    for _ in range(payouts):
        virtual.spawn(lambda: queue.work(invoke, pause_s))
    client.is_slow = True
    virtual.run()
    client.is_slow = False
    return Run(
        claims=claims,
        settled=count_settled(),
        dead=len(queue.dead),
        busy_s=queue.busy_s,
        conflicts=client.conflict_count,
        units=client.units,
    )
