"""Numeric bounds that all contexts share."""

from __future__ import annotations

FEN_MAX = 10**12
"""Maximum amount in fen (10 billion CNY); Lua and JavaScript lose precision above 2^53."""

AT_MS_MAX = 4_102_444_800_000
"""Maximum time in ms (start of the year 2100), because the cache stores times with 13 digits."""

CLOCKS_DIFFER_MS = 5_000
"""Assumed maximum difference in milliseconds between two clocks."""

MESSAGE_DELAY_S_MAX = 900
"""Longest delay in seconds that SQS accepts for a message."""

LOAD_WAITS_MS = (5, 10, 20, 40, 80, 160)
"""Pauses in ms while another caller loads the cache. Their sum exceeds the lease for loading a
small packet, so that a crash of its loader causes no 503.
"""

LIMIT_DEFAULT = 50
LIMIT_MAX = 100

CURSOR_MAX = 10**7
"""Maximum cursor for a proof's pages, which exceeds every share number."""

PROOF_LIMIT_DEFAULT = 10_000
PROOF_LIMIT_MAX = 100_000
"""Maximum number of amounts on a proof's page (1.4 MB); Lambda's response limit is 6 MB."""

LOG_SIZE_MAX = 10**9 - 1
"""Maximum entries in the public log, limited by the number of digits in route parameters."""

START_AHEAD_MS_MAX = 30 * 24 * 3_600_000
"""Milliseconds from a send to the latest start that a sender may choose."""

LIFE_S_MAX = 7 * 24 * 3600
"""Maximum lifetime in seconds that a sender may choose; a campaign's packet may live until the
campaign ends.
"""
