"""Payments, withdrawals, and the gateways' callbacks and statements."""
