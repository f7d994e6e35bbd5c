"""Limits of pages."""

LIMIT_DEFAULT = 50
LIMIT_MAX = 100

CURSOR_MAX = 10**7
"""Maximum cursor of a proof, above any share number."""

PROOF_LIMIT_DEFAULT = 10_000
PROOF_LIMIT_MAX = 100_000
"""Amounts on one page: at most 1.4 MB; Lambda's response limit is 6 MB."""

LOG_SIZE_MAX = 10**9 - 1
"""Maximum entries, by the digits of the routes' parameters."""
