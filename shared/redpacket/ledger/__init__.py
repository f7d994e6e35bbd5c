"""Double-entry ledger: accounts, transfers, deposits."""
