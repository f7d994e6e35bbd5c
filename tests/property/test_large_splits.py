"""Every split at the contract's limits: up to 1,000,000 shares, up to 10 billion yuan."""

from __future__ import annotations

from dataclasses import replace

import pytest

from redpacket.domain.ledger import FEN_MAX
from redpacket.domain.split import Split, Terms, amounts_fen
from tests.builders import some_terms
from tests.fairness import LUCKY

MILLION = 1_000_000


def assert_legal(terms: Terms) -> None:
    amounts = amounts_fen(terms)

    assert len(amounts) == terms.count
    assert sum(amounts) == terms.total_fen
    assert terms.share_fen_min <= min(amounts)
    assert max(amounts) <= terms.share_fen_max


@pytest.mark.parametrize("split", LUCKY)
def test_a_million_shares_add_up_within_their_bounds(split: Split) -> None:
    assert_legal(some_terms(300 * MILLION, MILLION, split=split))


@pytest.mark.parametrize("split", LUCKY)
@pytest.mark.parametrize(
    ("total_fen", "changes"),
    [
        (100_000, {}),
        (100_001, {"share_fen_max": 2}),
        (199_999, {"share_fen_max": 2}),
        (FEN_MAX, {"share_fen_max": FEN_MAX, "unit_fen": 100}),
    ],
    ids=["all at the least", "a fen to spare", "a fen below the most", "the most"],
)
def test_shares_at_the_limits_add_up_within_their_bounds(
    split: Split, total_fen: int, changes: dict[str, int]
) -> None:
    terms = some_terms(total_fen, 100_000, split=split)

    assert_legal(replace(terms, **changes))  # type: ignore[arg-type]
