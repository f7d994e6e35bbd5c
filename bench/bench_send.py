"""What a packet of 1,000,000 shares costs: its split, its load into the cache, and a live share.

make bench-send

A send computes no amount and loads no share: one hash with the terms, whatever the count. The first
winner whom a process serves splits them all, or, of a live packet, computes their own. Peers that
load the amounts themselves: each by a command of its own in pipelines (a tenth of them, times ten),
in chunks of 1,000, and as one packed string; the split that they need first is not counted.
"""

from __future__ import annotations

import json
import time
import tracemalloc
from array import array
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import count
from statistics import median

from bench.rounds import Figures, interleaved, ratio
from redpacket.adapters.redis.claims import RedisClaims
from redpacket.domain.split import SEED_BYTES, Split, Terms, amounts_fen, share_amount_fen
from testing.builders import a_packet, some_terms
from testing.servers import OperatorCache, some_servers

ROUNDS = 3
COUNT = 1_000_000
MEAN_FEN = 500
CHUNK = 1_000
PLACE = 50
"""Chunks of live shares that are measured at the start, in the middle and at the end."""

LOADS = 200
"""Of one run: a single one is too short for the clock."""

LIVE = Split.DOUBLE_MEAN_LIVE
PRESPLITS = [split for split in Split if split not in {Split.EQUAL, LIVE}]
PEERS = ("one_by_one", "chunks", "packed")

_seeds = count(1)


def main() -> None:
    """Measure, and print; the last line is JSON."""
    with some_servers() as start:
        cache = start().admin
        amounts = amounts_fen(_terms(Split.DOUBLE_MEAN))
        loads: dict[str, Callable[[], float]] = {
            "load": partial(_load, cache, COUNT),
            "load_of_10": partial(_load, cache, 10),
            "one_by_one": lambda: 10 * _push(cache, amounts[: COUNT // 10], 1),
            "chunks": lambda: _push(cache, amounts, CHUNK),
            "packed": partial(_pack, cache, amounts),
        }
        splits = {split.value: partial(_first_share, split, 1) for split in PRESPLITS}
        last_first = {"live_last_first": partial(_first_share, LIVE, COUNT)}
        figures = interleaved({**splits, **loads, **last_first}, ROUNDS)
    figures |= _live()
    peaks_mb = {split.value: _peak_mb(split) for split in (*PRESPLITS, LIVE)}
    print("Seconds, with the fastest and the slowest:")
    for name, each in figures.items():
        print(f"{name:16}  {median(each):10.3g}  {min(each):10.3g} to {max(each):.3g}")
    print(f"MB at the most for a first share: {peaks_mb}")
    print(json.dumps(_summary(figures, peaks_mb)))


def _summary(figures: Figures, peaks_mb: dict[str, float]) -> dict[str, object]:
    medians = {name: float(f"{median(each):.3g}") for name, each in figures.items()}
    splits_s = {split.value: medians[split] for split in PRESPLITS}
    return {
        "split_s": splits_s[Split.DOUBLE_MEAN],
        "load_s": medians["load"],
        "live_s": medians["live_end"],
        "peak_mb": max(peaks_mb.values()),
        "splits_s": splits_s,
        "peaks_mb": peaks_mb,
        "live_end_over_start": ratio(figures, "live_start", "live_end"),
        "live_last_first_s": medians["live_last_first"],
        "load_over_load_of_10": ratio(figures, "load_of_10", "load"),
        "peers_over_load": {name: ratio(figures, "load", name) for name in PEERS},
    }


def _terms(split: Split, share_count: int = COUNT) -> Terms:
    # A seed of its own each time: a process remembers what it has split.
    seed = next(_seeds).to_bytes(SEED_BYTES, "big")
    return some_terms(MEAN_FEN * share_count, share_count, split=split, seed=seed)


def _seconds(do: Callable[[], object]) -> float:
    before_s = time.perf_counter()
    do()
    return time.perf_counter() - before_s


def _first_share(split: Split, share_no: int) -> float:
    return _seconds(partial(share_amount_fen, _terms(split), share_no))


def _live() -> Figures:
    """Walk through a live packet in order, where a share costs the same everywhere."""
    terms = _terms(LIVE)

    def read(numbers: Sequence[int]) -> None:
        for share_no in numbers:
            share_amount_fen(terms, share_no)

    shares_s = [_seconds(partial(read, some)) / CHUNK for some in _cut(range(1, COUNT + 1), CHUNK)]
    middle = len(shares_s) // 2
    return {
        "live_start": shares_s[:PLACE],
        "live_middle": shares_s[middle : middle + PLACE],
        "live_end": shares_s[-PLACE:],
    }


def _peak_mb(split: Split) -> float:
    tracemalloc.start()
    _first_share(split, COUNT)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return round(peak / 1e6, 1)


def _load(cache: OperatorCache, share_count: int) -> float:
    claim_cache = RedisClaims(cache)
    packets = [a_packet(terms=_terms(Split.DOUBLE_MEAN, share_count)) for _ in range(LOADS)]

    def load() -> None:
        for packet in packets:
            claim_cache.load(packet, [])  # as send does: a new packet has no fates

    return _seconds(load) / LOADS


def _push(cache: OperatorCache, amounts: Sequence[int], size: int) -> float:
    def push() -> None:
        for some in _cut(amounts, CHUNK):
            pipeline = cache.pipeline(transaction=False)
            for values in _cut(some, size):
                pipeline.rpush("pushed", *values)
            pipeline.execute()

    cache.delete("pushed")
    return _seconds(push)


def _pack(cache: OperatorCache, amounts: Sequence[int]) -> float:
    return _seconds(lambda: cache.set("packed", array("I", amounts).tobytes()))


def _cut(numbers: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    return (numbers[start : start + size] for start in range(0, len(numbers), size))


if __name__ == "__main__":
    main()
