"""Use cases for payments, withdrawals, provider callbacks, and statements."""
