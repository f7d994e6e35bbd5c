"""Figures in docs/reference/splits.md, recomputed with half as many packets as the page used."""

import math
import random

import pytest

from redpacket.packets.split import Split, Terms, amounts_fen
from testing.fairness.splits import PACKETS, SEED, SHUFFLED, SIZES, measure, packets_of


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("split", SHUFFLED)
def test_all_positions_have_the_same_mean_and_the_same_luck(split: Split, size: str) -> None:
    fairness = measure(packets_of(split, *SIZES[size], PACKETS // 2))

    assert [mean for mean in fairness.means if abs(mean - 1) > 0.01] == []
    assert [chance for chance in fairness.luckiest if abs(chance - 0.1) > 0.01] == []


@pytest.mark.parametrize("size", SIZES)
def test_in_a_live_split_all_positions_have_the_same_mean_but_the_last_are_luckier(
    size: str,
) -> None:
    fairness = measure(packets_of(Split.DOUBLE_MEAN_LIVE, *SIZES[size], PACKETS // 2))

    # This bias is documented in docs/reference/splits.md.
    assert [mean for mean in fairness.means if abs(mean - 1) > 0.01] == []
    assert min(fairness.luckiest[:8]) > 0.079
    assert sum(fairness.luckiest[2:6]) / 4 == pytest.approx(0.092, abs=0.005)
    assert fairness.luckiest[8:] == pytest.approx([0.12, 0.12], abs=0.005)


@pytest.mark.parametrize("count", [3, 10, 30])
@pytest.mark.parametrize("cap", [1.2, 1.5, 2])
def test_a_cap_favors_no_position_of_a_live_split(cap: float, count: int) -> None:
    seeds = random.Random(SEED)
    times = 200_000 // count
    share_fen_max = int(1_000 * cap)
    split, total_fen = Split.DOUBLE_MEAN_LIVE, 1_000 * count

    fairness = measure(
        amounts_fen(Terms(split, total_fen, count, 1, share_fen_max, 1, seeds.randbytes(16)))
        for _ in range(times)
    )

    # Five standard deviations of the mean. A biased position would deviate by 4 to 50%.
    bound = max(0.01, 5 * min(cap - 1, 1) / math.sqrt(3 * times))
    assert [mean for mean in fairness.means if abs(mean - 1) > bound] == []
