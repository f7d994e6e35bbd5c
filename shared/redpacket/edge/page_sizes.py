"""How many items a page may have."""

LIMIT_DEFAULT = 50
LIMIT_MAX = 100

CURSOR_MAX = 10**7
"""Over any share number, which is what the cursor of a proof is."""

PROOF_LIMIT_DEFAULT = 10_000
PROOF_LIMIT_MAX = 100_000
"""1.4 MB of the largest amounts; Lambda answers with 6 MB at most."""

LOG_SIZE_MAX = 10**9 - 1
"""More entries than the parameters of its routes have digits for."""
