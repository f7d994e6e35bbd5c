"""Use cases of payments, withdrawals, provider callbacks and statements."""
