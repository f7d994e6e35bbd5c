from __future__ import annotations

import math
import random
import statistics
import sys
from array import array
from collections import Counter
from dataclasses import replace
from threading import Thread
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from redpacket.packets.errors import SplitImpossible
from redpacket.packets.split import (
    SEED_BYTES,
    UNIT_FEN_MAX,
    Split,
    Terms,
    amounts_fen,
    check_possible,
    default_share_fen_max,
    live,
    share_amount_fen,
)
from redpacket.packets.split.live import _draw_block, _Walk
from redpacket.packets.split.presplit import _bell
from redpacket.packets.split.terms import COUNT_MAX, Units
from redpacket.packets.split.words import WORD_BITS, seed_words
from redpacket.platform.bounds import FEN_MAX
from testing.builders import some_terms

SPLITS = list(Split)
LUCKY = [split for split in Split if split is not Split.EQUAL]

seeds = st.binary(min_size=SEED_BYTES, max_size=SEED_BYTES)
units_fen = st.one_of(st.just(1), st.just(100), st.integers(1, UNIT_FEN_MAX))


@st.composite
def legal_terms(draw: st.DrawFn, splits: list[Split] = SPLITS) -> Terms:
    """Return any terms with an outcome; the bounds need not be multiples of the unit."""
    split, unit = draw(st.sampled_from(splits)), draw(units_fen)
    # Most mistakes are at the edges: few spare units, or equal bounds.
    wide = st.one_of(st.integers(1, 3), st.integers(1, 50), st.integers(1, 10**9))
    count, low = draw(st.integers(1, 300)), draw(wide)
    high = low + draw(wide) - 1
    spread = st.one_of(
        st.just(count * low),
        st.just(count * high),
        st.integers(count * low, count * high),
        st.integers(count * low, min(count * high, count * low + 2 * count)),
    )
    total = draw(spread)
    if split is Split.EQUAL:
        total -= total % count
    return Terms(
        split,
        total * unit,
        count,
        low * unit - draw(st.integers(0, unit - 1)),
        high * unit + draw(st.integers(0, unit - 1)),
        unit,
        draw(seeds),
    )


@st.composite
def any_terms(draw: st.DrawFn) -> Terms:
    """Return terms of any kind, most of them impossible."""
    small = st.integers(-1, 40)
    return Terms(
        draw(st.sampled_from(SPLITS)),
        draw(st.one_of(small, st.integers(-FEN_MAX, FEN_MAX))),
        draw(st.integers(-1, 30)),
        draw(st.one_of(small, st.just(1))),
        draw(st.one_of(small, st.just(20_000))),
        draw(st.integers(-1, 12)),
        draw(seeds),
    )


def has_an_outcome(terms: Terms) -> bool:
    """Return whether amounts exist, by the definition instead of the rule under test."""
    if min(terms.total_fen, terms.count, terms.share_fen_min, terms.unit_fen) < 1:
        return False
    multiples = [
        fen
        for fen in range(0, terms.share_fen_max + 1, terms.unit_fen)
        if fen >= terms.share_fen_min
    ]
    if not multiples or terms.total_fen % terms.unit_fen:
        return False
    if terms.split is Split.EQUAL:
        return terms.total_fen / terms.count in multiples
    return terms.count * multiples[0] <= terms.total_fen <= terms.count * multiples[-1]


def assert_legal(terms: Terms) -> None:
    amounts = amounts_fen(terms)

    assert len(amounts) == terms.count
    assert sum(amounts) == terms.total_fen
    assert terms.share_fen_min <= min(amounts)
    assert max(amounts) <= terms.share_fen_max
    assert {amount % terms.unit_fen for amount in amounts} == {0}
    assert all(type(amount) is int for amount in amounts)


# ---------------------------------------------------------------- every split, any input


@settings(max_examples=600)
@given(legal_terms())
# Edge cases that break naive splits: a plain random range fails for small totals, a base of 0 gives
# empty shares, and rounding to two decimals can make the last share negative.
@example(some_terms(1, 1, split=Split.DOUBLE_MEAN_LIVE))
@example(some_terms(10, 10, split=Split.BASE_DOUBLE_MEAN))
@example(some_terms(11, 10, split=Split.BELL, share_fen_max=2))
@example(some_terms(10, 10, split=Split.CUT_POINTS))
def test_shares_add_up_within_their_bounds(terms: Terms) -> None:
    assert_legal(terms)


@given(any_terms())
def test_terms_are_refused_only_if_no_amounts_exist(terms: Terms) -> None:
    if has_an_outcome(terms):
        assert_legal(terms)
    else:
        with pytest.raises(SplitImpossible):
            check_possible(terms)
        with pytest.raises(SplitImpossible):
            amounts_fen(terms)


@given(legal_terms())
def test_the_same_terms_give_the_same_shares(terms: Terms) -> None:
    # The splits of other seeds evict this one from the cache of complete splits.
    first = list(amounts_fen(terms))
    for other in range(20):
        amounts_fen(replace(terms, seed=other.to_bytes(SEED_BYTES, "big")))

    assert list(amounts_fen(Terms.parse(str(terms)))) == first


@given(legal_terms())
def test_the_share_of_a_number_is_its_place_in_the_split(terms: Terms) -> None:
    amounts = list(amounts_fen(terms))

    assert [share_amount_fen(terms, no + 1) for no in range(terms.count)] == amounts


@pytest.mark.parametrize("split", LUCKY)
def test_another_seed_gives_other_shares(split: Split) -> None:
    splits = {
        tuple(amounts_fen(some_terms(10_000, 10, split=split, seed=seed.to_bytes(16, "big"))))
        for seed in range(100)
    }

    assert len(splits) == 100


@pytest.mark.parametrize("split", SPLITS)
def test_small_packets_have_no_empty_shares_and_none_outside_the_count(split: Split) -> None:
    assert list(amounts_fen(some_terms(777, 1, split=split))) == [777]
    assert list(amounts_fen(some_terms(1000, 5, split=Split.EQUAL))) == [200] * 5
    for count in (1, 2, 10, 100):
        assert Counter(amounts_fen(some_terms(count, count, split=split))) == {1: count}
    for share_no in (0, -1, 11):
        with pytest.raises(IndexError):
            share_amount_fen(some_terms(1000, 10, split=split), share_no)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"total_fen": 9}, "exceed the total"),
        ({"total_fen": 10 * 20_000 + 1}, "can't reach the total"),
        ({"share_fen_min": 101}, "exceed the total"),
        ({"share_fen_min": 50, "share_fen_max": 49}, "exceeds share_fen_max"),
        ({"split": Split.EQUAL, "total_fen": 1001}, "not divisible by 10$"),
        ({"split": Split.EQUAL, "total_fen": 1100, "unit_fen": 100}, "units of 100 fen$|by 10 in"),
        ({"unit_fen": 3}, "not divisible by unit_fen, 3"),
        ({"unit_fen": 20, "share_fen_min": 41, "share_fen_max": 59}, "no multiple of unit_fen, 20"),
        ({"unit_fen": 200}, "10 shares of at least 200 fen exceed the total"),
        ({"unit_fen": 100, "share_fen_max": 199, "total_fen": 1100}, "at most 100 fen can't reach"),
        ({"total_fen": 0}, "at least 1"),
        ({"count": 0}, "at least 1"),
        ({"share_fen_min": 0}, "at least 1"),
        ({"unit_fen": 0}, "at least 1"),
    ],
)
def test_an_impossible_split_has_a_reason(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(SplitImpossible, match=reason):
        amounts_fen(replace(some_terms(1000, 10), **changes))


# ---------------------------------------------------------------- terms


@given(legal_terms())
def test_terms_survive_their_canonical_form(terms: Terms) -> None:
    assert Terms.parse(str(terms)) == terms


def test_the_canonical_form_and_the_commitment_never_change() -> None:
    terms = some_terms(1000, 5, seed=bytes(range(16)))

    assert str(terms) == ("rp1,double_mean,1000,5,1,20000,1,AAECAwQFBgcICQoLDA0ODw")
    # sha256sum computed this commitment, and an independent JavaScript program the amounts.
    assert terms.commitment == "d417575cfd5d1164837203d8a1fc9e9d7355a083805df9cc2b6a054c94c3575b"
    assert list(amounts_fen(terms)) == [67, 17, 863, 28, 25]


def test_a_form_of_another_version_is_refused() -> None:
    for version in ("rp2", "rs2", "rp9"):
        with pytest.raises(ValueError, match=f"unknown form of terms: {version}"):
            Terms.parse(str(some_terms()).replace("rp1", version) + ",more,fields")


def test_words_are_drawn_from_shake_256() -> None:
    # The first bytes of SHAKE-256 of the empty input, NIST's example: 46 b9 dd 2b 0b a8 8d 13 23
    # ...
    assert list(seed_words(b"", 2)) == [0x46B9DD2B0BA88D13, 0x233B3FEB743EEB24]


# ---------------------------------------------------------------- single splits


def amounts_of(split: Split, total_fen: int = 10_000, count: int = 10, **changes: Any) -> list[int]:
    """Return the amounts of a thousand packets."""
    chance = random.Random(1)
    return [
        amount
        for _ in range(1_000)
        for amount in amounts_fen(
            some_terms(total_fen, count, split=split, seed=chance.randbytes(16), **changes)
        )
    ]


@pytest.mark.parametrize("split", [Split.DOUBLE_MEAN, Split.DOUBLE_MEAN_LIVE])
def test_a_double_mean_split_reaches_beyond_twice_the_mean(split: Split) -> None:
    amounts = amounts_of(split)

    assert min(amounts) < 50
    assert max(amounts) > 2_000
    assert 400 < statistics.stdev(amounts) < 1_000


def test_a_base_gives_small_differences_in_units() -> None:
    amounts, yuan = (
        amounts_of(Split.BASE_DOUBLE_MEAN),
        amounts_of(Split.BASE_DOUBLE_MEAN, 88_800, 10, unit_fen=100),
    )

    assert min(amounts) == 10_000 // 11
    assert statistics.stdev(amounts) < 100
    assert {amount % 100 for amount in yuan} == {0}
    assert 8_000 == min(yuan) < max(yuan) < 14_000


def test_a_bell_has_more_shares_in_the_middle_than_at_either_end() -> None:
    amounts = amounts_of(Split.BELL, share_fen_max=2_000)
    thirds = Counter(min(2, amount * 3 // 2_000) for amount in amounts)

    assert thirds[1] > 1.8 * thirds[0]
    assert thirds[1] > 1.8 * thirds[2]
    assert statistics.mean(amounts) == 1_000
    assert min(amounts) < 100
    assert max(amounts) > 1_900


def test_a_bell_with_an_off_center_mean_is_skewed_and_stays_within_bounds() -> None:
    amounts = amounts_of(Split.BELL, 4_000, share_fen_max=2_000)

    assert statistics.median(amounts) < 400
    assert max(amounts) > 1_500


def test_cut_points_spread_most_widely() -> None:
    amounts = amounts_of(Split.CUT_POINTS)

    assert statistics.stdev(amounts) == pytest.approx(900, rel=0.05)
    assert max(amounts) > 5_000


def test_a_bell_is_twice_as_wide_as_its_mean_by_default() -> None:
    def widest(split: Split, total_fen: int, count: int, unit_fen: int = 1) -> int:
        return default_share_fen_max(
            split, total_fen=total_fen, count=count, unit_fen=unit_fen, cap_fen=20_000
        )

    assert widest(Split.BELL, 10_000, 10) == 2_000
    assert widest(Split.BELL, 10, 10) == 2
    assert widest(Split.BELL, 11, 10) == 3
    assert widest(Split.BELL, 1_500, 10, unit_fen=100) == 300
    assert widest(Split.BELL, 150_000, 10) == 20_000
    assert widest(Split.DOUBLE_MEAN, 10_000, 10) == 20_000


@given(legal_terms([Split.BELL]))
def test_the_default_width_of_a_bell_never_makes_a_packet_impossible(terms: Terms) -> None:
    width = default_share_fen_max(
        terms.split,
        total_fen=terms.total_fen,
        count=terms.count,
        unit_fen=terms.unit_fen,
        cap_fen=terms.share_fen_max,
    )

    assert_legal(replace(terms, share_fen_max=width))


# ---------------------------------------------------------------- the live split


def live_terms(count: int, **changes: Any) -> Terms:
    return some_terms(300 * count, count, split=Split.DOUBLE_MEAN_LIVE, **changes)


@given(st.lists(st.integers(1, 20_000), min_size=1, max_size=12), seeds)
@settings(max_examples=20)
def test_live_shares_are_independent_of_the_order_of_claims(
    numbers: list[int], seed: bytes
) -> None:
    terms = live_terms(20_000, seed=seed)
    amounts = amounts_fen(terms)

    assert [share_amount_fen(terms, no) for no in numbers] == [amounts[no - 1] for no in numbers]


def test_a_live_packet_uses_the_same_memory_for_any_count() -> None:
    terms = live_terms(100_000)
    walk = _Walk(terms)
    for share_no in range(1, 100_001, 500):
        walk.amount_fen(share_no)
    amounts = amounts_fen(terms)
    late = random.Random(1).sample(range(1, 100_001), 50)

    assert [walk.amount_fen(no) for no in late] == [amounts[no - 1] for no in late]
    assert len(walk._checkpoints) <= 64
    assert len(walk._blocks) == 2
    assert sum(sys.getsizeof(block) for block in walk._blocks.values()) < 20_000


def test_claims_in_order_draw_every_block_once(monkeypatch: pytest.MonkeyPatch) -> None:
    walk = _Walk(live_terms(50_000))
    drawn_blocks = []

    def draw(units: Units, seed: bytes, block_no: int, left: int) -> array[int]:
        drawn_blocks.append(block_no)
        return _draw_block(units, seed, block_no, left)

    monkeypatch.setattr(live, "_draw_block", draw)
    # Read at two positions in turn, one of which is 350 numbers ahead.
    for share_no in range(1, 50_000 - 400, 70):
        walk.amount_fen(share_no)
        walk.amount_fen(share_no + 350)

    assert drawn_blocks == list(range(50))


def test_threads_read_the_same_live_shares() -> None:
    terms = live_terms(30_000)
    amounts = amounts_fen(terms)
    wrong: list[int] = []

    def read(seed: int) -> None:
        chance = random.Random(seed)
        numbers = [chance.randint(1, 30_000) for _ in range(100)]
        wrong.extend(no for no in numbers if share_amount_fen(terms, no) != amounts[no - 1])

    threads = [Thread(target=read, args=[seed]) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert wrong == []


@pytest.mark.parametrize("high", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("count", [2, 3, 5])
def test_the_next_live_share_is_exactly_the_mean_of_the_rest_under_any_cap(
    count: int, high: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for left in range(count * high + 1):
        twice = 2 * min(left, count * high - left)
        # The words are so evenly spread that each rounding occurs as often as its exact fraction.
        times = count * math.lcm(twice // count + 1, twice // count + 2)
        words = [((2 * number + 1) << WORD_BITS) // (2 * times) for number in range(times)]
        amounts = [_next_live(Units(left, count, 0, high), word, monkeypatch) for word in words]

        assert sum(amounts) * count == left * times
        assert 0 <= min(amounts) <= max(amounts) <= high


def _next_live(units: Units, word: int, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(live, "word_block", lambda *_: [word])
    return _draw_block(units, bytes(SEED_BYTES), 0, units.total)[0]


def test_terms_with_more_shares_than_a_send_allows_are_refused() -> None:
    text = str(replace(some_terms(), count=COUNT_MAX + 1))

    with pytest.raises(ValueError, match="terms of 1000001 shares"):
        Terms.parse(text)


def test_the_slopes_of_a_bell_use_separate_words() -> None:
    units = Units(total=4, count=2, low=1, high=3)

    lower_then_upper = list(_bell(units, iter([2**63 - 1, 0, 2**63, 0])))

    assert lower_then_upper == [1, 3]
