"""Split of a packet's total into shares: a pure function of the packet's terms and secret seed.

`shares.py` divides the total equally, computes each share at its claim (`live.py`), or computes all
shares at once (`presplit.py`). docs/reference/splits.md specifies each algorithm.
"""

from redpacket.packets.split.shares import amounts_fen, share_amount_fen
from redpacket.packets.split.terms import (
    SEED_BYTES,
    UNIT_FEN_MAX,
    Split,
    Terms,
    check_possible,
    default_share_fen_max,
    seed_of,
)

__all__ = [
    "SEED_BYTES",
    "UNIT_FEN_MAX",
    "Split",
    "Terms",
    "amounts_fen",
    "check_possible",
    "default_share_fen_max",
    "seed_of",
    "share_amount_fen",
]
