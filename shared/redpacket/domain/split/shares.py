"""The amounts of a packet's shares, all or one; what is costly to compute is kept for a while."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import lru_cache

from redpacket.domain.split.live import live_amount_fen, live_amounts_fen
from redpacket.domain.split.presplit import presplit
from redpacket.domain.split.terms import Split, Terms, check_possible

_PACKETS_KEPT = 8
"""8 MB for the largest packet. Grab asks for one share, payout for a few. What was forgotten is
split again: a chat packet within a millisecond, a packet of 1,000,000 shares in a second."""


def amounts_fen(terms: Terms) -> Sequence[int]:
    """Return the amount of share 1, 2, ... *count*; they add up to the total exactly.

    Raises SplitImpossible. What is returned is shared: it must not be changed.
    """
    if terms.split is Split.EQUAL:
        check_possible(terms)
        return [terms.total_fen // terms.count] * terms.count
    terms.check_open()
    if terms.split is Split.DOUBLE_MEAN_LIVE:
        return live_amounts_fen(terms)
    return _kept_split(terms)


def share_amount_fen(terms: Terms, share_no: int) -> int:
    """Return the amount of one share; IndexError outside 1..count. Raises SplitImpossible."""
    if not 1 <= share_no <= terms.count:
        raise IndexError(f"share {share_no} of {terms.count}")
    if terms.split is Split.EQUAL:
        check_possible(terms)
        return terms.total_fen // terms.count
    terms.check_open()
    if terms.split is Split.DOUBLE_MEAN_LIVE:
        return live_amount_fen(terms, share_no)
    return _kept_split(terms)[share_no - 1]


@lru_cache(maxsize=_PACKETS_KEPT)
def _kept_split(terms: Terms) -> array[int]:
    return presplit(terms)
