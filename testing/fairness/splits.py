"""Statistics of a split by position: mean amounts, and how often each position is the luckiest."""

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from redpacket.packets.split import Split, Terms, amounts_fen, default_share_fen_max

PACKETS = 60_000
SEED = 20_260_217
SIZES = {"100 yuan": (10_000, 10), "0.20 yuan": (20, 10)}
"""Totals in fen and share counts. A shuffled split must favor no position at either size."""

LUCKY = [split for split in Split if split is not Split.EQUAL]
SHUFFLED = [split for split in LUCKY if split is not Split.DOUBLE_MEAN_LIVE]


@dataclass(frozen=True, slots=True)
class Fairness:
    """For each position: the mean relative to the fair share, and the chance of being luckiest."""

    means: Sequence[float]
    luckiest: Sequence[float]


def packets_of(split: Split, total_fen: int, count: int, packets: int) -> Iterator[Sequence[int]]:
    """Yield the amounts of packets with default bounds and the default unit."""
    seeds = random.Random(SEED)
    share_fen_max = default_share_fen_max(
        split, total_fen=total_fen, count=count, unit_fen=1, cap_fen=20_000
    )
    for _ in range(packets):
        seed = seeds.randbytes(16)
        yield amounts_fen(Terms(split, total_fen, count, 1, share_fen_max, 1, seed))


def measure(packets: Iterable[Sequence[int]]) -> Fairness:
    """Measure packets of one size; a tie counts in equal parts for each of the luckiest
    positions.
    """
    times = 0
    sums: list[int] = []
    luckiest: list[float] = []
    for amounts in packets:
        times += 1
        if not sums:
            sums, luckiest = [0] * len(amounts), [0.0] * len(amounts)
        sums = list(map(int.__add__, sums, amounts))
        best = max(amounts)
        winners = [position for position, amount in enumerate(amounts) if amount == best]
        for position in winners:
            luckiest[position] += 1 / len(winners)
    fair = sum(sums) / len(sums)
    return Fairness([total / fair for total in sums], [won / times for won in luckiest])
