"""Bounds of numbers that all contexts share."""

from __future__ import annotations

FEN_MAX = 10**12
"""Cap of an amount in fen (10 billion CNY), far below 2^53, where Lua and JSON lose precision."""

AT_MS_MAX = 4_102_444_800_000
"""Milliseconds of the year 2100: the cache stores 13 digits of a window."""

CLOCKS_DIFFER_MS = 5_000
"""Maximum difference between the clocks of two functions."""

MESSAGE_DELAY_S_MAX = 900
"""Longest delay of a message in SQS, in seconds."""
