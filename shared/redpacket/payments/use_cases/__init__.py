"""Payments, withdrawals, and the providers' callbacks and statements."""
