from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redpacket.adapters.redis.packet_state import read_terms, write_head
from redpacket.domain.split import Split, Terms
from testing.builders import some_terms

MONTH_MS = 30 * 24 * 3600 * 1000

any_terms = st.builds(
    Terms,
    st.sampled_from(Split),
    st.integers(1, 10**12),
    st.integers(1, 1_000_000),
    st.integers(1, 10**9),
    st.integers(1, 10**9),
    st.integers(1, 10_000),
    st.binary(min_size=16, max_size=16),
)


@given(
    any_terms,
    st.integers(1, 1_000_000),
    st.integers(0, 80 * 12 * MONTH_MS),
    st.sampled_from(["", "!", "?", "!?"]),
    st.sampled_from(["", "|-3,86401000,7,12"]),
)
def test_terms_survive_a_state(
    terms: Terms, count: int, opens_ms: int, marks: str, tail: str
) -> None:
    head = write_head(terms, count, opens_ms, marks)

    assert read_terms(f"O{head}{tail}") == (str(terms), marks)
    assert (int(head[:8], 36), int(head[8:12], 36)) == (opens_ms, count)


@pytest.mark.parametrize("split", Split)
def test_a_state_is_short(split: Split) -> None:
    usual = some_terms(20_000, 10, split=split, share_fen_max=20_000)
    longest = some_terms(10**10, 100, split=split, share_fen_min=100, unit_fen=100)

    # With the name of its field a packed hash has 64 bytes for 52 of these.
    assert len("O" + write_head(usual, 10, 2 * MONTH_MS, "!")) <= 52
    # A longer one unpacks the hash.
    assert len("O" + write_head(longest, 7, 2 * MONTH_MS, "!?")) <= 64
