"""Tables in docs/capacity.md: the load of two rushes on each service, and a stack's limits."""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

from bench import cost, counts
from bench.deployment import RATINGS, indexes_of, ledger_of, sweeps_of
from local.places import ROOT
from local.template import read_template
from redpacket.ledger.dynamodb import keys
from redpacket.packets.model.packet import SHARDS_MAX, SMALL_MAX
from redpacket.packets.use_cases.expire_packets import PACKETS_PER_SWEEP
from redpacket.packets.use_cases.sweep import REPAIR_MS, RESERVE_MS
from redpacket.platform.runtime import THREADS

PAGE = ROOT / "docs" / "capacity.md"
FIGURES = ROOT / "bench" / "figures.toml"
BEGIN, END = "<!-- sizes:begin -->", "<!-- sizes:end -->"
READINGS = "<!-- readings:begin -->", "<!-- readings:end -->"

# Planning figures, more cautious than the measured figures. See docs/capacity.md for sources.
GRAB_S = 0.015
PAYOUT_S = 0.4
LOSER_CPU_S = 20e-6
WINNER_CPU_S = 60e-6
CACHE_LOAD = 0.5
"""Maximum CPU load of a cache shard, as a fraction. The rest is for failovers and surprises."""

SWEEP_CPU_S = 0.025
"""CPU seconds for a packet that a sweep refunds and closes. Measured: 16 ms and 4.5 calls."""
SWEEP_CALLS = 7.0
CALL_S = 0.02
"""Seconds for each of a packet's sequential calls to DynamoDB and the cache, rounded up."""
SWEEP_RESERVE_S = (RESERVE_MS + REPAIR_MS) / 1_000
"""Seconds that a sweep reserves for the last chunk, and for requeues and loads."""
DUE = 100_000
"""Number of packets that expire in one minute before they are emptied."""

# Limits of AWS. See docs/capacity.md for sources.
PARTITION_WRITE_UNITS = 1_000
TABLE_UNITS_QUOTA = 40_000
EDGE_RPS = 250_000
"""Maximum number of requests per second to a CloudFront distribution."""
IN_FLIGHT = 120_000
"""Maximum number of an SQS queue's messages that are received but not yet deleted."""
REQUESTS_PER_CONCURRENCY = 10
SCALING_RPS = 10_000
SCALING_S = 10
PROCESSOR_MB = 1_769
"""Memory size in MB at which a function has one full vCPU. Python uses only one."""


@dataclass(frozen=True, slots=True)
class Rush:
    """Rush of users: peak rates per second, and total numbers of grabs, shares, and packets."""

    name: str
    grabs_per_s: int
    claims_per_s: int
    grabs: int
    shares: int
    packets: int


RUSHES = (
    Rush("a company of 5,000", 5_000, 500, grabs=15_000, shares=500, packets=10),
    Rush("an app, 1,000,000 users", 100_000, 10_000, grabs=10_000_000, shares=100_000, packets=1),
)


@dataclass(frozen=True, slots=True)
class Ledger:
    """Write units per claim, and the rate of payouts, computed from the code and the template."""

    outcomes: float
    settled_outcomes: float
    shares: float
    accounts: float
    sums: float
    payouts_per_s: float

    @property
    def claims_per_partition(self) -> float:
        """Return the number of claims per second that one partition of shares accepts."""
        return PARTITION_WRITE_UNITS / self.outcomes

    @property
    def settled_per_partition(self) -> float:
        """Return the claims per second that one partition of shares accepts and settles."""
        return PARTITION_WRITE_UNITS / (self.outcomes + self.settled_outcomes)

    @property
    def settled_per_packet(self) -> float:
        """Return the claims per second that the row with one large packet's sums accepts."""
        return PARTITION_WRITE_UNITS / self.sums


def ledger(rating: str = RATINGS[0]) -> Ledger:
    """Count the write units of a claim while the real use cases run."""
    deployed = read_template()
    indexes = indexes_of(deployed)
    till = counts.MeteredTill(indexes)
    size = 2 * SMALL_MAX
    packet = till.send(size)
    # Leave out the last claim, whose settlement ends the packet.
    shares = till.claim(packet, range(1, size))
    count, of_rows, written = len(shares), till.meter.of_rows, till.meter.written
    claimed_outcomes = of_rows["shares"] / count
    till.settle([share.ref for share in shares])
    batch = deployed["Resources"]["PayoutFunctionClaims"]["Properties"]["BatchSize"]
    batches = ledger_of(deployed, rating)["Payouts"]
    return Ledger(
        outcomes=claimed_outcomes,
        settled_outcomes=of_rows["shares"] / count - claimed_outcomes,
        shares=written["shares"] / count,
        accounts=written["accounts"] / count,
        # Each invocation updates the packet's stored sums once for its batch.
        sums=1 / batch,
        payouts_per_s=batches * batch / PAYOUT_S,
    )


def shards(rush: Rush) -> int:
    """Return the number of shards that the cache needs if every grab calls it."""
    losers = rush.grabs_per_s - rush.claims_per_s
    busy = losers * LOSER_CPU_S + rush.claims_per_s * WINNER_CPU_S
    return ceil(busy / CACHE_LOAD)


def partitions(rush: Rush, ledger: Ledger) -> int:
    """Return the number of share partitions that each packet needs for claims and payouts."""
    return ceil(rush.claims_per_s / rush.packets / ledger.settled_per_partition)


def scaling_s(rush: Rush) -> float:
    """Return the seconds that Lambda needs to scale up from zero. The first step is immediate."""
    return max(0.0, rush.grabs_per_s / SCALING_RPS - 1) * SCALING_S


def work_partitions(rush: Rush) -> int:
    """Return the number of partitions that a work list needs. Each claim enters and leaves it."""
    return ceil(2 * rush.claims_per_s / PARTITION_WRITE_UNITS)


def settling_s(rush: Rush, ledger: Ledger) -> float:
    """Return the seconds that payouts take with the template's settings."""
    return rush.shares / min(ledger.payouts_per_s, rush.packets * ledger.settled_per_packet)


@dataclass(frozen=True, slots=True)
class Sweeps:
    """Rate at which the template's sweeps close packets that expire before they are emptied."""

    side_by_side: int
    packets_per_s: float
    window_s: float

    @property
    def packets_per_minute(self) -> int:
        """Return the number of packets that the sweeps of one minute can close."""
        each = min(PACKETS_PER_SWEEP, int(self.packets_per_s * self.window_s))
        return self.side_by_side * each


def sweeps(rating: str = RATINGS[0]) -> Sweeps:
    """Compute a sweep's capacity from its CPU and its sequential calls."""
    deployed = read_template()
    function = deployed["Resources"]["ExpireFunction"]["Properties"]
    memory_mb = function.get("MemorySize", deployed["Globals"]["Function"]["MemorySize"])
    by_processor = min(1.0, memory_mb / PROCESSOR_MB) / SWEEP_CPU_S
    by_waiting = THREADS / (SWEEP_CALLS * CALL_S)
    grace_s = int(deployed["Mappings"]["Stages"]["prod"]["CloseGraceSeconds"])
    return Sweeps(
        side_by_side=sweeps_of(deployed, rating),
        packets_per_s=min(by_processor, by_waiting),
        window_s=function["Timeout"] - grace_s - SWEEP_RESERVE_S,
    )


def closing_minutes(packets: int) -> int:
    """Return the minutes that the sweeps need to close packets that are due at the same time."""
    return ceil(packets / sweeps().packets_per_minute)


def usd(rush: Rush) -> float:
    """Return the price of the rush's grabs, including settlement."""
    return cost.usd_of(rush.grabs, rush.shares)


def table(rushes: Sequence[Rush] = RUSHES) -> str:
    """Return a Markdown table with the rushes side by side."""
    measured = ledger()
    rows: list[tuple[str, str, Callable[[Rush], float]]] = [
        ("Grabs a second", "given", lambda rush: rush.grabs_per_s),
        ("Claims a second", "given", lambda rush: rush.claims_per_s),
        ("Shares in total", "given", lambda rush: rush.shares),
        ("API: quota to request, requests a second", "grabs", lambda rush: rush.grabs_per_s),
        ("Lambda: busy environments", "grabs x 15 ms", lambda rush: rush.grabs_per_s * GRAB_S),
        (
            "Lambda: concurrency to request",
            "grabs / 10",
            lambda rush: rush.grabs_per_s / REQUESTS_PER_CONCURRENCY,
        ),
        ("Lambda: seconds to scale up from zero", "10 s for 10,000 grabs more", scaling_s),
        ("Cache: shards", "(losers x 20 us + winners x 60 us) / 50%", shards),
        (
            f"Partitions of one packet's shares, at most {SHARDS_MAX}",
            f"claims of one packet / {measured.settled_per_partition:,.0f}",
            lambda rush: partitions(rush, measured),
        ),
        (
            "SharesTable: write units a second",
            f"claims x {measured.shares:g}",
            lambda rush: rush.claims_per_s * measured.shares,
        ),
        (
            "AccountsTable: write units a second, to keep up",
            f"claims x {measured.accounts:g}",
            lambda rush: rush.claims_per_s * measured.accounts,
        ),
        (
            f"Partitions of a work list, {keys.WORK_SHARDS} there are",
            "claims x 2 / 1,000",
            work_partitions,
        ),
        (
            "Seconds to settle",
            (
                f"shares / min({measured.payouts_per_s:,.0f}, "
                f"packets x {measured.settled_per_packet:,.0f})"
            ),
            lambda rush: settling_s(rush, measured),
        ),
        (
            "Minutes to close its packets, if none were emptied",
            f"packets / {sweeps().packets_per_minute:,}",
            lambda rush: closing_minutes(rush.packets),
        ),
        ("USD of the rush", "`make cost`", usd),
    ]
    lines = [
        f"| | How | {' | '.join(rush.name for rush in rushes)} |",
        f"| --- | --- |{' --: |' * len(rushes)}",
    ]
    for says, how, value in rows:
        cells = " | ".join(_said(value(rush)) for rush in rushes)
        lines.append(f"| {says} | {how} | {cells} |")
    return "\n".join([*lines, ""])


SHARES_PER_PACKET, POLLS_PER_GRAB = 10, 4
INDEX_UNITS, RECEIPT_UNITS = 2, 2
A, B = 76_000, 760_000
"""Claims per second at a peak of 760,000 grabs, of which a tenth (A) or all (B) win."""


def readings(kept: Mapping[str, Any]) -> str:
    """Return tables of a stack's default and highest capacity, and of the needs at WeChat's peak.

    *kept* has the stored records of all benches.
    """
    deployed = read_template()
    low, high = (ledger_of(deployed, rating) for rating in (RATINGS[0], RATINGS[-1]))
    measured, log = ledger(), kept["log"]["figures"]["entries_per_s"]
    rate = deployed["Parameters"]["RouteRate"]
    accounts = measured.accounts + RECEIPT_UNITS
    of_shard = PARTITION_WRITE_UNITS / INDEX_UNITS
    batch = deployed["Resources"]["PayoutFunctionClaims"]["Properties"]["BatchSize"]
    a_day = [sweeps(rating).packets_per_minute * 1_440 / 1e6 for rating in RATINGS[::2]]
    grabs, polls, per_grab = 10 * A, POLLS_PER_GRAB, 1 / REQUESTS_PER_CONCURRENCY
    a, b, sends = float(A), float(B), 1 / SHARES_PER_PACKET
    shards = (low["WorkShards"] * of_shard, high["WorkShards"] * of_shard)
    rows: dict[str, tuple[float, float, float, float]] = {
        "API: requests a second": (rate["Default"], rate["MaxValue"], grabs, grabs),
        "Lambda: concurrency": (1_000, 10_000, grabs * per_grab, grabs * per_grab),
        f"SharesTable: units a second, {measured.shares:g} a claim": (
            *(TABLE_UNITS_QUOTA, high["SharesUnits"]),
            *(a * measured.shares, b * measured.shares),
        ),
        f"AccountsTable: the same, {accounts:g} with receipts": (
            *(TABLE_UNITS_QUOTA, high["AccountsUnits"]),
            *(a * accounts, b * accounts),
        ),
        "`by_work`: claims a second": (*shards, a, b),
        "Payouts: claims a second": (
            *(measured.payouts_per_s, ledger(RATINGS[-1]).payouts_per_s),
            *(a, b),
        ),
        f"SQS: in flight, of {IN_FLIGHT:,}": (
            *(low["Payouts"] * batch, high["Payouts"] * batch),
            *(a * PAYOUT_S, b * PAYOUT_S),
        ),
        "Public log: sends a second": (log, log, a * sends, b * sends),
        "Sweeps: million packets a day": (a_day[0], a_day[1], 50, 50),
        "CloudFront: requests a second": (EDGE_RPS, EDGE_RPS, grabs * polls, grabs * polls),
    }
    lines = [
        f"| Limit | Default | `LedgerRating` {RATINGS[-1]} | A needs | B needs |",
        "| --- |" + " --: |" * 4,
        *(f"| {says} | {' | '.join(map(_said, values))} |" for says, values in rows.items()),
        "",
        "| In the load model | served |",
        "| --- | --: |",
    ]
    told = tomllib.loads(FIGURES.read_text(encoding="utf-8"))["cells"]["figures"]
    served = kept["cells"]["figures"]
    return "\n".join([*lines, *(f"| {says} | {served[name]:g}% |" for name, says in told), ""])


def _said(value: float) -> str:
    return f"{value:,.0f}" if value >= 1 or value == 0 else f"{value:.2g}"


def measure() -> dict[str, float]:
    """Print the table, and return the figures of this bench."""
    print(table())
    measured = ledger()
    return {
        "claims_per_partition": measured.claims_per_partition,
        "settled_per_partition": measured.settled_per_partition,
        "payouts_per_s": measured.payouts_per_s,
        "packets_closed_per_minute": sweeps().packets_per_minute,
        "shards_of_an_app": shards(RUSHES[1]),
    }
