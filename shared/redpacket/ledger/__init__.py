"""Double-entry ledger: accounts, transfers and deposits."""
