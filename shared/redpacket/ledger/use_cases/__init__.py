"""Use cases of the ledger."""
