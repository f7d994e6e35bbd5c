"""Use cases of ledger."""
