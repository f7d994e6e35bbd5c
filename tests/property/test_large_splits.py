"""Splits at the contract's limits: up to 1,000,000 shares, up to 10 billion yuan."""

import hashlib
from dataclasses import replace

import pytest

from redpacket.packets.split import Split, Terms, amounts_fen
from redpacket.platform.bounds import FEN_MAX
from testing.builders import some_terms
from testing.fairness.splits import LUCKY

MILLION = 1_000_000

DIGESTS = {
    Split.DOUBLE_MEAN: "074f8480c7b5294d3d0463f650bdaf39ef83dd38886bc70566d38dae144f9a18",
    Split.DOUBLE_MEAN_LIVE: "51005ab4e054b7e8549073695b9bd305691dac24ad67f4b48e3390e90cd5027e",
    Split.BASE_DOUBLE_MEAN: "c4b336d47faea77421d810e895c6f7fe93e51364788ce7ab0ec240ce3156ea8b",
    Split.BELL: "c312cfe106fbabe22e14a12c264c225e47b69982421d5e1625515b4a1b47d6e1",
    Split.CUT_POINTS: "1c234e0eb4749ef08c4b50dc87756cacebd69bcf9476f2cc07a003dbb84a8895",
}
"""SHA-256 hashes of the first release's amounts, written in decimal and separated by commas."""


def assert_legal(terms: Terms) -> None:
    amounts = amounts_fen(terms)

    assert len(amounts) == terms.count
    assert sum(amounts) == terms.total_fen
    assert terms.share_fen_min <= min(amounts)
    assert max(amounts) <= terms.share_fen_max


@pytest.mark.parametrize("split", LUCKY)
def test_a_million_shares_add_up_within_their_bounds_and_never_change(split: Split) -> None:
    terms = some_terms(300 * MILLION, MILLION, split=split)

    assert_legal(terms)
    listed = ",".join(map(str, amounts_fen(terms)))
    assert hashlib.sha256(listed.encode()).hexdigest() == DIGESTS[split]


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
