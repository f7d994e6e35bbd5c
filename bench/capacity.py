"""Writes the table of docs/capacity.md: what a rush of three sizes asks of each service.

make capacity
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil

from bench import cost, counts
from bench.deployment import indexes_of, template
from local.places import ROOT
from redpacket.adapters import keys
from redpacket.domain.packet import PARTS_MAX
from redpacket.flows.expire_packets import PACKETS_PER_SWEEP

PAGE = ROOT / "docs" / "capacity.md"
BEGIN, END = "<!-- sizes:begin -->", "<!-- sizes:end -->"

# Planning figures, on the safe side of what was measured; docs/capacity.md says of each from where.
GRAB_S = 0.015
PAYOUT_S = 0.15
LOSER_CPU_S = 20e-6
WINNER_CPU_S = 60e-6
CACHE_LOAD = 0.5
"""How busy a shard may be: the other half is for a failover and for what was not foreseen."""

# AWS' own limits; docs/capacity.md names their pages.
PARTITION_WRITE_UNITS = 1_000
REQUESTS_PER_CONCURRENCY = 10
SCALING_RPS = 10_000
SCALING_S = 10


@dataclass(frozen=True, slots=True)
class Rush:
    """What comes: grabs at the peak, and the shares that they take."""

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
    """What claims cost DynamoDB, and how fast payouts are, by the code and the template."""

    fates: float
    packets: float
    accounts: float
    escrow: float
    payouts_per_s: float

    @property
    def claims_per_partition(self) -> float:
        """Claims a second that the partition of a part's fates bears."""
        return PARTITION_WRITE_UNITS / self.fates

    @property
    def settled_per_packet(self) -> float:
        """Claims a second that can be settled of one packet: its escrow's book is one partition."""
        return PARTITION_WRITE_UNITS / self.escrow


def ledger() -> Ledger:
    """Count write units a claim, in the operations that the adapters make."""
    size = 20
    resources = template()["Resources"]
    indexes = indexes_of(template())
    claiming, settling = counts.count_operations(size, None)
    packets = counts.units(counts.on_table("packets", claiming + settling), indexes)
    payouts = resources["PayoutFunction"]["Properties"]["Events"]["Claims"]
    batches = payouts["Properties"]["ScalingConfig"]["MaximumConcurrency"]
    return Ledger(
        fates=counts.units(counts.in_partition("packet#", claiming), {}) / size,
        packets=packets / size,
        # Alone: those of small packets share no escrow with the others of their batch.
        accounts=counts.units(counts.on_table("accounts", counts.count_operations(1, None)[1]), {}),
        escrow=counts.units(counts.in_partition("escrow:", settling), {}) / size,
        payouts_per_s=batches * payouts["Properties"]["BatchSize"] / PAYOUT_S,
    )


def shards(rush: Rush) -> int:
    """Return how many shards the cache needs, if every grab asks it."""
    losers = rush.grabs_per_s - rush.claims_per_s
    busy = losers * LOSER_CPU_S + rush.claims_per_s * WINNER_CPU_S
    return ceil(busy / CACHE_LOAD)


def parts(rush: Rush, ledger: Ledger) -> int:
    """Return how many parts each packet needs for its claims."""
    return ceil(rush.claims_per_s / rush.packets / ledger.claims_per_partition)


def scaling_s(rush: Rush) -> float:
    """Return how long Lambda takes to get there from nothing: the first step comes at once."""
    return max(0.0, rush.grabs_per_s / SCALING_RPS - 1) * SCALING_S


def work_partitions(rush: Rush) -> int:
    """Return how many partitions a work list needs: a claim enters it and leaves it."""
    return ceil(2 * rush.claims_per_s / PARTITION_WRITE_UNITS)


def settling_s(rush: Rush, ledger: Ledger) -> float:
    """Return how long payouts take, as the template has them."""
    return rush.shares / min(ledger.payouts_per_s, rush.packets * ledger.settled_per_packet)


def closing_minutes(rush: Rush) -> int:
    """Return how many minutes the sweeps take to close all packets."""
    return ceil(rush.packets / closed_per_minute())


def closed_per_minute() -> int:
    """Return how many packets the sweeps close that the template starts every minute."""
    rule = template()["Resources"]["ExpireFunctionEveryMinute"]
    return PACKETS_PER_SWEEP * len(rule["Properties"]["Targets"])


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
            f"Parts a packet, at most {PARTS_MAX}",
            f"claims of one packet / {found.claims_per_partition:,.0f}",
            lambda rush: parts(rush, found),
        ),
        (
            "PacketsTable: write units a second",
            f"claims x {found.packets:g}",
            lambda rush: rush.claims_per_s * found.packets,
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
            "Minutes to close its packets, at best",
            f"packets / {closed_per_minute():,}",
            closing_minutes,
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


def main() -> None:
    """Write the table into the page."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    PAGE.write_text(f"{before}{BEGIN}\n{table()}{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
