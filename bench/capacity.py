"""The table of docs/capacity.md: the load of three sizes of rush on each service."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil

from bench import cost, counts
from bench.deployment import indexes_of, sweeps_of
from local.places import ROOT
from local.template import read_template
from redpacket.ledger.dynamodb import keys
from redpacket.packets.model.packet import SHARDS_MAX, SMALL_MAX
from redpacket.packets.use_cases.expire_packets import PACKETS_PER_SWEEP
from redpacket.packets.use_cases.sweep import REPAIR_MS, RESERVE_MS
from redpacket.platform.threads import THREADS

PAGE = ROOT / "docs" / "capacity.md"
BEGIN, END = "<!-- sizes:begin -->", "<!-- sizes:end -->"

# Planning figures, on the safe side of what was measured; docs/capacity.md says of each from where.
GRAB_S = 0.015
PAYOUT_S = 0.4
LOSER_CPU_S = 20e-6
WINNER_CPU_S = 60e-6
CACHE_LOAD = 0.5
"""How busy a shard may be: the other half is for a failover and for what was not foreseen."""

SWEEP_CPU_S = 0.025
"""Of a packet that a sweep refunds and closes: 16 ms were measured, and 4.5 calls."""
SWEEP_CALLS = 7.0
CALL_S = 0.02
"""A packet's calls of DynamoDB and the cache, one after the other, on the safe side."""
SWEEP_RESERVE_S = (RESERVE_MS + REPAIR_MS) / 1_000
"""What a sweep leaves for the last chunk, and refunds for lost claims."""
DUE = 100_000
"""Packets that are not emptied and expire in one minute."""

# AWS' own limits; docs/capacity.md names their pages.
PARTITION_WRITE_UNITS = 1_000
REQUESTS_PER_CONCURRENCY = 10
SCALING_RPS = 10_000
SCALING_S = 10
PROCESSOR_MB = 1_769
"""A function of so much memory has one whole processor, and Python uses no second one."""


@dataclass(frozen=True, slots=True)
class Rush:
    """A rush: grabs at the peak, and the shares that they take."""

    name: str
    grabs_per_s: int
    claims_per_s: int
    grabs: int
    shares: int
    packets: int


RUSHES = (
    Rush("a company of 5,000", 5_000, 500, grabs=15_000, shares=500, packets=10),
    Rush("an app, 1,000,000 users", 100_000, 10_000, grabs=10_000_000, shares=100_000, packets=1),
    Rush(
        "760,000 a second, for a minute",
        760_000,
        76_000,
        grabs=45_600_000,
        shares=4_560_000,
        packets=456_000,
    ),
)


@dataclass(frozen=True, slots=True)
class Ledger:
    """Write units of claims and the speed of payouts, from the code and the template."""

    fates: float
    settled_fates: float
    shares: float
    accounts: float
    sums: float
    payouts_per_s: float

    @property
    def claims_per_partition(self) -> float:
        """Claims a second that one partition of fates bears."""
        return PARTITION_WRITE_UNITS / self.fates

    @property
    def settled_per_partition(self) -> float:
        """Claims a second that are claimed and settled in one partition of fates."""
        return PARTITION_WRITE_UNITS / (self.fates + self.settled_fates)

    @property
    def settled_per_packet(self) -> float:
        """Claims a second that the kept sums of one large packet bear."""
        return PARTITION_WRITE_UNITS / self.sums


def ledger() -> Ledger:
    """Count the write units of a claim in the flows' calls."""
    indexes = indexes_of(read_template())
    till = counts.MeteredTill(indexes)
    size = 2 * SMALL_MAX
    packet = till.send(size)
    # Except the last one, whose settlement ends the packet.
    shares = till.claim(packet, range(1, size))
    count, of_rows, written = len(shares), till.meter.of_rows, till.meter.written
    claimed_fates = of_rows["shares"] / count
    till.settle([share.ref for share in shares])
    payouts = read_template()["Resources"]["PayoutFunctionClaims"]["Properties"]
    batches, batch = payouts["ScalingConfig"]["MaximumConcurrency"], payouts["BatchSize"]
    return Ledger(
        fates=claimed_fates,
        settled_fates=of_rows["shares"] / count - claimed_fates,
        shares=written["shares"] / count,
        accounts=written["accounts"] / count,
        # An invocation adds its batch to them, by itself.
        sums=1 / batch,
        payouts_per_s=batches * batch / PAYOUT_S,
    )


def shards(rush: Rush) -> int:
    """Return how many shards the cache needs, if every grab asks it."""
    losers = rush.grabs_per_s - rush.claims_per_s
    busy = losers * LOSER_CPU_S + rush.claims_per_s * WINNER_CPU_S
    return ceil(busy / CACHE_LOAD)


def partitions(rush: Rush, ledger: Ledger) -> int:
    """Return how many partitions of fates each packet needs for its claims and payouts."""
    return ceil(rush.claims_per_s / rush.packets / ledger.settled_per_partition)


def scaling_s(rush: Rush) -> float:
    """Return how long Lambda takes to get there from nothing: the first step comes at once."""
    return max(0.0, rush.grabs_per_s / SCALING_RPS - 1) * SCALING_S


def work_partitions(rush: Rush) -> int:
    """Return how many partitions a work list needs: a claim enters it and leaves it."""
    return ceil(2 * rush.claims_per_s / PARTITION_WRITE_UNITS)


def settling_s(rush: Rush, ledger: Ledger) -> float:
    """Return how long payouts take, as the template has them."""
    return rush.shares / min(ledger.payouts_per_s, rush.packets * ledger.settled_per_packet)


@dataclass(frozen=True, slots=True)
class Sweeps:
    """Rate at which the template's sweeps close packets that are not emptied."""

    side_by_side: int
    packets_per_s: float
    window_s: float

    @property
    def packets_per_minute(self) -> int:
        """Return how many packets all sweeps of a minute close."""
        each = min(PACKETS_PER_SWEEP, int(self.packets_per_s * self.window_s))
        return self.side_by_side * each


def sweeps() -> Sweeps:
    """Compute a sweep's capacity from its processor and from the calls that it waits for."""
    deployed = read_template()
    function = deployed["Resources"]["ExpireFunction"]["Properties"]
    memory_mb = function.get("MemorySize", deployed["Globals"]["Function"]["MemorySize"])
    by_processor = min(1.0, memory_mb / PROCESSOR_MB) / SWEEP_CPU_S
    by_waiting = THREADS / (SWEEP_CALLS * CALL_S)
    grace_s = int(deployed["Mappings"]["Stages"]["prod"]["CloseGraceSeconds"])
    return Sweeps(
        side_by_side=sweeps_of(deployed),
        packets_per_s=min(by_processor, by_waiting),
        window_s=function["Timeout"] - grace_s - SWEEP_RESERVE_S,
    )


def closing_minutes(packets: int) -> int:
    """Return how many minutes the sweeps take to close packets that are due at one time."""
    return ceil(packets / sweeps().packets_per_minute)


def usd(rush: Rush) -> float:
    """Return the price of the rush's grabs, settling included."""
    return cost.usd_of(rush.grabs, rush.shares)


def table(rushes: Sequence[Rush] = RUSHES) -> str:
    """Return the sizes, side by side."""
    found = ledger()
    rows: list[tuple[str, str, Callable[[Rush], float]]] = [
        ("Grabs a second", "given", lambda rush: rush.grabs_per_s),
        ("Claims a second", "given", lambda rush: rush.claims_per_s),
        ("Shares, all in all", "given", lambda rush: rush.shares),
        ("API: requests a second to ask for", "grabs", lambda rush: rush.grabs_per_s),
        ("Lambda: environments at work", "grabs x 15 ms", lambda rush: rush.grabs_per_s * GRAB_S),
        (
            "Lambda: concurrency to ask for",
            "grabs / 10",
            lambda rush: rush.grabs_per_s / REQUESTS_PER_CONCURRENCY,
        ),
        ("Lambda: seconds to get there unprepared", "10 s for 10,000 grabs more", scaling_s),
        ("Cache: shards", "(losers x 20 us + winners x 60 us) / 50%", shards),
        (
            f"Partitions of fates a packet, at most {SHARDS_MAX}",
            f"claims of one packet / {found.settled_per_partition:,.0f}",
            lambda rush: partitions(rush, found),
        ),
        (
            "SharesTable: write units a second",
            f"claims x {found.shares:g}",
            lambda rush: rush.claims_per_s * found.shares,
        ),
        (
            "AccountsTable: write units a second, to keep up",
            f"claims x {found.accounts:g}",
            lambda rush: rush.claims_per_s * found.accounts,
        ),
        (
            f"Partitions of a work list, {keys.WORK_SHARDS} there are",
            "claims x 2 / 1,000",
            work_partitions,
        ),
        (
            "Seconds to settle",
            f"shares / min({found.payouts_per_s:,.0f}, packets x {found.settled_per_packet:,.0f})",
            lambda rush: settling_s(rush, found),
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


def _said(value: float) -> str:
    return f"{value:,.0f}" if value >= 1 or value == 0 else f"{value:.2g}"


def measure() -> dict[str, float]:
    """Print the table; return the figures of the line."""
    print(table())
    found = ledger()
    return {
        "claims_per_partition": found.claims_per_partition,
        "settled_per_partition": found.settled_per_partition,
        "payouts_per_s": found.payouts_per_s,
        "packets_closed_per_minute": sweeps().packets_per_minute,
        "shards_of_an_app": shards(RUSHES[1]),
    }
